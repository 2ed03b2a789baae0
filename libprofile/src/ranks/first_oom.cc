#include "memtool/profile/ranks/first_oom.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

using Failures = std::vector<RankOom>;

bool Earlier(const RankOom& a, const RankOom& b) {
  if (a.time.has_value() != b.time.has_value()) {
    return a.time.has_value();
  }
  return std::tie(a.time, a.rank, a.where, a.requested_bytes, a.free) <
         std::tie(b.time, b.rank, b.where, b.requested_bytes, b.free);
}

void Add(OomGroup& group, const RankOom& failure) {
  ++group.failures;
  group.last = failure.time;
  if (failure.free) {
    group.min_free = std::min(group.min_free.value_or(*failure.free), *failure.free);
    group.max_free = std::max(group.max_free.value_or(*failure.free), *failure.free);
  }
}

void FindFirst(const Failures& sorted, OomSequence& found) {
  if (sorted.empty() || !sorted.front().time) {
    return;
  }
  const RankOom& first = sorted.front();
  found.first_rank = first.rank;
  found.first_time = first.time;
  for (const RankOom& failure : sorted) {
    if (!failure.time) {
      break;
    }
    const std::int64_t behind = SaturatingSubtract(*failure.time, *first.time);
    if (failure.rank != first.rank && !found.before_next) {
      found.before_next = behind;
    }
    if (behind < kSameTime) {
      found.at_first.push_back(failure.rank);
    }
  }
  std::sort(found.at_first.begin(), found.at_first.end());
  found.at_first.erase(std::unique(found.at_first.begin(), found.at_first.end()),
                       found.at_first.end());
}

}  // namespace

OomSequence OrderOoms(std::span<const RankOom> failures) {
  Failures sorted(failures.begin(), failures.end());
  std::sort(sorted.begin(), sorted.end(), Earlier);
  OomSequence found;
  FindFirst(sorted, found);
  // Whether with the first, whether it has a time, what was asked for and where.
  using Key = std::tuple<bool, bool, std::optional<std::int64_t>, std::uint64_t>;
  std::map<Key, std::size_t> known;
  std::set<std::pair<std::size_t, std::int64_t>> seen;  // group and rank
  for (const RankOom& failure : sorted) {
    if (!failure.time) {
      ++found.without_time;
    }
    std::optional<std::int64_t> behind;
    if (failure.time && found.first_time) {
      behind = SaturatingSubtract(*failure.time, *found.first_time);
    }
    const bool with_first = behind && *behind < kSameTime;
    const Key key{with_first, failure.time.has_value(), failure.requested_bytes, failure.where};
    const auto [at, fresh] = known.try_emplace(key, found.groups.size());
    if (fresh) {
      found.groups.push_back({.time = failure.time,
                              .requested_bytes = failure.requested_bytes,
                              .where = failure.where,
                              .after_first = behind,
                              .with_first = with_first});
    }
    OomGroup& group = found.groups[at->second];
    Add(group, failure);
    if (seen.emplace(at->second, failure.rank).second) {
      group.ranks.push_back(failure.rank);
    }
  }
  return found;
}

}  // namespace memtool
