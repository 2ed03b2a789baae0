#include "rocpd/times.h"

namespace memtool::formats::rocpd {

void Timestamps::Add(std::int64_t id, std::int64_t time) {
  first_ = times_.empty() ? id : first_;
  const std::uint64_t at = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_);
  // Gaps are filled as long as that does not make more of them than of times.
  constexpr std::uint64_t kGap = 1024;
  if (at < times_.size() || at > 2 * std::uint64_t{times_.size()} + kGap) {
    others_.emplace(id, time);
    return;
  }
  while (times_.size() < at) {
    times_.push_back(kNone);
  }
  while (bases_.size() <= at / kPerBase) {
    bases_.push_back(time);
  }
  const auto distance = static_cast<std::int64_t>(static_cast<std::uint64_t>(time) -
                                                  static_cast<std::uint64_t>(bases_.back()));
  const bool near = distance > INT32_MIN && distance <= INT32_MAX;
  times_.push_back(near ? static_cast<std::int32_t>(distance) : kNone);
  if (!near) {
    others_.emplace(id, time);
  }
}

std::optional<std::int64_t> Timestamps::At(std::optional<std::int64_t> id) const {
  if (!id) {
    return std::nullopt;
  }
  const std::uint64_t at = static_cast<std::uint64_t>(*id) - static_cast<std::uint64_t>(first_);
  if (at < times_.size() && times_[at] != kNone) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(bases_[at / kPerBase]) +
                                     static_cast<std::uint64_t>(std::int64_t{times_[at]}));
  }
  const auto found = others_.find(*id);
  return found == others_.end() ? std::nullopt : std::optional(found->second);
}

ThreadTimes::ThreadTimes(const Tables& tables)
    : memory_(tables.memory), first_(std::size_t{tables.thread_count} + 1, 0) {
  if (tables.thread_count <= 1) {
    first_.back() = memory_.size();
    return;
  }
  const auto thread_of = [&](const MemoryRow& row) { return tables.origins[row.origin()].thread; };
  for (const MemoryRow& row : memory_) {
    ++first_[thread_of(row) + 1];
  }
  for (std::size_t thread = 0; thread < tables.thread_count; ++thread) {
    first_[thread + 1] += first_[thread];
  }
  rows_.resize(memory_.size());
  std::vector<std::size_t> next = first_;
  for (std::size_t row = 0; row < memory_.size(); ++row) {
    rows_[next[thread_of(memory_[row])]++] = static_cast<std::uint32_t>(row);
  }
}

bool ThreadTimes::AnyWithin(std::uint32_t thread, std::int64_t begin, std::int64_t end) const {
  std::size_t low = first_[thread];
  const std::size_t last = first_[thread + 1];
  for (std::size_t left = last - low; left > 0;) {
    const std::size_t half = left / 2;
    const bool before = TimeAt(low + half) < begin;
    low += before ? half + 1 : 0;
    left = before ? left - half - 1 : half;
  }
  return low < last && TimeAt(low) <= end;
}

}  // namespace memtool::formats::rocpd
