#include "memtool/profile/history/churn.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// Reorders `values`.
std::optional<std::int64_t> LowerMedian(std::vector<std::int64_t>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Lifetimes {
  std::vector<std::int64_t> events;
  std::vector<std::int64_t> nanos;

  void AddTo(Lifetimes& other) const {
    other.events.insert(other.events.end(), events.begin(), events.end());
    other.nanos.insert(other.nanos.end(), nanos.begin(), nanos.end());
  }
  void AddSums(Churn& churn) {
    churn.median_events = LowerMedian(events);
    churn.median_nanos = LowerMedian(nanos);
  }
};

class Summer {
 public:
  Summer(const HistoryIndex& index, const View& view, const EventFilter& filter,
         const AllocationGroups& groups, const ShortLived& limit)
      : index_(index),
        recording_(view.recording()),
        keeper_(view),
        filter_(filter),
        groups_(groups),
        limit_(limit),
        lives_(groups.names.size() + 1) {
    sums_.groups.resize(groups.names.size() + 1);
    const auto no_stack =
        std::find_if(groups.names.begin(), groups.names.end(),
                     [](const AllocationGroups::Name& group) { return group.name == kNoStack; });
    rest_ = static_cast<std::size_t>(no_stack - groups.names.begin());
  }

  void Add(const EventRange& range) {
    const Trace& trace = recording_.history->traces[range.trace];
    const Replay& replay = index_.replay(range.trace);
    const auto events = GetEvents(recording_, trace);
    for (std::int64_t i = range.first; i <= range.last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Event& event = events[at];
      if (event.time != kNoTime) {
        first_ = std::min(first_, event.time);
        last_ = std::max(last_, event.time);
      }
      const LabelSetId labels = MakeLabels(trace.first_event + at);
      if (replay.TakesMemory(static_cast<std::uint32_t>(at)) && filter_.Matches(event) &&
          keeper_.Keeps(labels, event.stack)) {
        const std::uint32_t end = replay.EndOf(static_cast<std::uint32_t>(at));
        Count(event, labels, end == Replay::kNoEvent ? nullptr : &events[end],
              static_cast<std::int64_t>(end) - i);
      }
    }
  }

  ChurnSums Finish() {
    Lifetimes all;
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      const Churn& churn = sums_.groups[i];
      sums_.total.allocations += churn.allocations;
      sums_.total.short_lived += churn.short_lived;
      sums_.total.kept += churn.kept;
      sums_.total.without_address += churn.without_address;
      sums_.total.bytes = SaturatingAdd(sums_.total.bytes, churn.bytes);
      sums_.total.short_bytes = SaturatingAdd(sums_.total.short_bytes, churn.short_bytes);
      sums_.total.kept_bytes = SaturatingAdd(sums_.total.kept_bytes, churn.kept_bytes);
      lives_[i].AddTo(all);
      lives_[i].AddSums(sums_.groups[i]);
    }
    all.AddSums(sums_.total);
    if (first_ <= last_) {
      sums_.nanos = SaturatingSubtract(last_, first_);
    }
    return std::move(sums_);
  }

 private:
  [[nodiscard]] LabelSetId MakeLabels(std::uint64_t row) const {
    return recording_.history->labels.empty() ? LabelSetId(0U) : recording_.history->labels[row];
  }

  [[nodiscard]] std::size_t GetGroup(const Event& event, LabelSetId labels) const {
    std::uint32_t group = AllocationGroups::kRest;
    if (!groups_.of_stack.empty()) {
      group = event.stack.valid() ? groups_.of_stack[event.stack.value()] : group;
    } else if (!groups_.of_label.empty()) {
      group = groups_.of_label[labels.value()];
    } else if (!groups_.of_stream.empty()) {
      group = groups_.of_stream[event.stream];
    }
    return group == AllocationGroups::kRest ? rest_ : group;
  }

  // `free` ends it `after` entries later; null when nothing does.
  void Count(const Event& event, LabelSetId labels, const Event* free, std::int64_t after) {
    const std::size_t group = GetGroup(event, labels);
    Churn& churn = sums_.groups[group];
    ++churn.allocations;
    churn.bytes = SaturatingAdd(churn.bytes, event.size);
    if (event.action == Action::kAdjust) {
      ++churn.without_address;
      return;
    }
    if (free == nullptr) {
      ++churn.kept;
      churn.kept_bytes = SaturatingAdd(churn.kept_bytes, event.size);
      return;
    }
    const bool timed = event.time != kNoTime && free->time != kNoTime;
    const std::int64_t nanos = timed ? SaturatingSubtract(free->time, event.time) : 0;
    lives_[group].events.push_back(after);
    if (timed) {
      lives_[group].nanos.push_back(nanos);
    }
    if (limit_.nanos ? timed && nanos <= *limit_.nanos : after <= limit_.events) {
      ++churn.short_lived;
      churn.short_bytes = SaturatingAdd(churn.short_bytes, event.size);
    }
  }

  const HistoryIndex& index_;
  const Recording& recording_;
  EventKeeper keeper_;
  const EventFilter& filter_;
  const AllocationGroups& groups_;
  const ShortLived& limit_;
  std::size_t rest_ = 0;  // the group of what has no stack
  std::vector<Lifetimes> lives_;
  ChurnSums sums_;
  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = INT64_MIN;
};

}  // namespace

ChurnSums SumChurn(const HistoryIndex& index, const View& view, std::span<const EventRange> ranges,
                   const EventFilter& filter, const AllocationGroups& groups,
                   const ShortLived& limit) {
  Summer summer(index, view, filter, groups, limit);
  for (const EventRange& range : ranges) {
    summer.Add(range);
  }
  return summer.Finish();
}

}  // namespace memtool
