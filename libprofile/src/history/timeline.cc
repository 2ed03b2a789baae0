#include "memtool/profile/history/timeline.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// Which of the range's equal parts an event belongs to.
class Parts {
 public:
  Parts(std::span<const Event> events, const TimelineRange& range)
      : first_(range.first + 1), count_(range.points), by_time_(range.by_time) {
    end_ = range.last + 1;
    if (!by_time_) {
      return;
    }
    bool any = false;
    for (std::int64_t i = first_; i < end_; ++i) {
      const std::int64_t time = events[static_cast<std::size_t>(i)].time;
      if (time != kNoTime) {
        start_ = any ? std::min(start_, time) : time;
        stop_ = any ? std::max(stop_, time) : time;
        any = true;
      }
    }
    now_ = start_;
  }

  std::size_t Of(std::int64_t event, std::int64_t time) {
    const auto parts = static_cast<double>(count_);
    double place = 0;
    if (by_time_) {
      now_ = time == kNoTime ? now_ : std::max(now_, time);  // clocks in files step back
      place = (static_cast<double>(now_) - static_cast<double>(start_)) /
              (static_cast<double>(stop_) - static_cast<double>(start_) + 1);
    } else {
      place = static_cast<double>(event - first_) / static_cast<double>(end_ - first_);
    }
    return std::min(static_cast<std::size_t>(place * parts), count_ - 1);
  }

 private:
  std::int64_t first_;
  std::int64_t end_ = 0;
  std::size_t count_;
  bool by_time_;
  std::int64_t start_ = 0;
  std::int64_t stop_ = 0;
  std::int64_t now_ = 0;
};

// Collects points: all of them, or the highest of each part.
class Collector {
 public:
  Collector(std::size_t layers, std::span<const Event> events, const TimelineRange& range)
      : parts_(range.points > 0), range_(range), part_of_(events, range) {
    out_.layer_count = layers;
  }

  // The state after an event; `changed`: that event changed it.
  void Step(const TimelinePoint& point, bool changed, std::span<const std::int64_t> held) {
    if (point.event == range_.first) {
      Keep(point, held);
    } else if (point.event > range_.first && changed) {
      Offer(point, held);
    }
    live_ = point.allocated;
  }

  Timeline Finish(const TimelinePoint& last, std::span<const std::int64_t> held) && {
    Close();
    if (parts_ && reserved_.set) {
      Insert(reserved_);
    }
    if (parts_ && out_.points.back().event < last.event) {
      Keep(last, held);
    }
    return std::move(out_);
  }

 private:
  struct Candidate {
    bool set = false;
    TimelinePoint point;
    std::vector<std::int64_t> held;
  };

  void Keep(const TimelinePoint& point, std::span<const std::int64_t> held) {
    Keep(point, held, point.allocated);
  }
  void Keep(const TimelinePoint& point, std::span<const std::int64_t> held, std::int64_t lowest) {
    out_.points.push_back(point);
    out_.points.back().lowest = lowest;
    out_.layers.insert(out_.layers.end(), held.begin(),
                       held.begin() + static_cast<std::ptrdiff_t>(out_.layer_count));
  }

  void Offer(const TimelinePoint& point, std::span<const std::int64_t> held) {
    if (!parts_) {
      Keep(point, held);
      return;
    }
    if (const std::size_t part = part_of_.Of(point.event, point.time); part != part_) {
      Close();
      part_ = part;
      lowest_ = live_;  // which the part begins with
    }
    lowest_ = std::min(lowest_, point.allocated);
    if (!best_.set || point.allocated > best_.point.allocated) {
      best_ = {true, point, {held.begin(), held.end()}};
    }
    if (!reserved_.set || point.reserved > reserved_.point.reserved) {
      reserved_ = {true, point, {held.begin(), held.end()}};
    }
  }

  void Close() {
    if (best_.set) {
      Keep(best_.point, best_.held, lowest_);
      best_.set = false;
    }
  }

  void Insert(const Candidate& candidate) {
    const auto at = std::lower_bound(
        out_.points.begin(), out_.points.end(), candidate.point.event,
        [](const TimelinePoint& point, std::int64_t event) { return point.event < event; });
    if (at != out_.points.end() && at->event == candidate.point.event) {
      return;
    }
    const std::ptrdiff_t row = at - out_.points.begin();
    const auto layers = static_cast<std::ptrdiff_t>(out_.layer_count);
    out_.points.insert(at, candidate.point)->lowest = candidate.point.allocated;
    out_.layers.insert(out_.layers.begin() + row * layers, candidate.held.begin(),
                       candidate.held.begin() + layers);
  }

  bool parts_;
  const TimelineRange& range_;
  Parts part_of_;
  Timeline out_;
  std::size_t part_ = SIZE_MAX;
  Candidate best_;
  Candidate reserved_;       // the highest of the whole range
  std::int64_t live_ = 0;    // after the event before
  std::int64_t lowest_ = 0;  // of the part
};

// Current live bytes, in all and per layer.
class LayerSums {
 public:
  LayerSums(std::size_t groups, std::span<const std::uint32_t> chosen)
      : layer_of_group_(groups, chosen.size() + 1), held_(chosen.size() + 2, 0) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      layer_of_group_[chosen[i]] = i;
    }
  }

  void AddBefore(std::int64_t bytes) { AddTo(held_.size() - 2, bytes); }
  void Add(std::uint32_t group, std::int64_t bytes) {
    AddTo(group < layer_of_group_.size() ? layer_of_group_[group] : held_.size() - 1, bytes);
  }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] const std::vector<std::int64_t>& held() const { return held_; }

 private:
  void AddTo(std::size_t layer, std::int64_t bytes) {
    total_ = RunningAdd(total_, bytes);
    held_[layer] = RunningAdd(held_[layer], bytes);
  }

  std::vector<std::size_t> layer_of_group_;
  std::vector<std::int64_t> held_;  // the chosen, before the recording, the rest
  std::int64_t total_ = 0;
};

}  // namespace

TimelineMaker::TimelineMaker(const Recording& recording, const Trace& trace, const Replay& replay,
                             const AllocationGroups& groups, std::int64_t reserved_base)
    : recording_(recording),
      trace_(trace),
      replay_(replay),
      groups_(groups),
      reserved_base_(reserved_base),
      events_(GetEvents(recording, trace)) {}

std::uint32_t TimelineMaker::GroupOfStack(StackId stack) const {
  if (!stack.valid() || stack.value() >= groups_.of_stack.size()) {
    return AllocationGroups::kRest;
  }
  return groups_.of_stack[stack.value()];
}

// The group of the allocation that an event makes or ends.
std::uint32_t TimelineMaker::GetGroup(std::uint32_t event) const {
  if (events_[event].action == Action::kAdjust) {
    return AllocationGroups::kRest;
  }
  const bool is_free = events_[event].action == Action::kFreeCompleted;
  const std::uint32_t opened = is_free ? replay_.partners()[event] : event;
  if (opened == Replay::kNoEvent) {
    return kBefore;
  }
  if (!groups_.of_stream.empty()) {
    return groups_.of_stream[events_[opened].stream];
  }
  if (!groups_.of_label.empty()) {
    const auto& labels = recording_.history->labels;
    const LabelSetId set = labels.empty() ? LabelSetId(0U) : labels[trace_.first_event + opened];
    return set.valid() ? groups_.of_label[set.value()] : groups_.of_label[0];
  }
  return GroupOfStack(events_[opened].stack);
}

std::uint32_t TimelineMaker::GroupOfBlock(const Block& block) const {
  const bool frames =
      !groups_.of_stack.empty() && block.stack.valid() && !recording_.Stack(block.stack).empty();
  return frames ? GroupOfStack(block.stack) : kBefore;
}

// visit(group, bytes) for all that was there before the first event.
template <class VisitHeld>
void TimelineMaker::ForEachBase(VisitHeld visit) const {
  for (const std::uint32_t event : replay_.unmatched()) {
    visit(kBefore, events_[event].size);
  }
  for (const std::uint32_t row : replay_.unopened()) {
    const Block& block = recording_.state->blocks[row];
    visit(GroupOfBlock(block), block.requested);
  }
  visit(kBefore, replay_.preexisting());
  visit(AllocationGroups::kRest, replay_.base_without_address());
}

// visit(group, bytes) for all that is live after an event from which on the range can be walked;
// that event, or -1. Sums that were clamped before it stay so: these are walked from the base.
template <class VisitHeld>
std::int64_t TimelineMaker::ForEachAtFirst(const TimelineRange& range, VisitHeld visit) const {
  if (range.first < 0 || !range.at_first || IsClamped(range.at_first->live) ||
      IsClamped(range.at_first->reserved)) {
    ForEachBase(visit);
    return -1;
  }
  for (const LiveBlock& live : replay_.LiveAt(range.first)) {
    if (live.block != UINT32_MAX) {
      visit(GroupOfBlock(recording_.state->blocks[live.block]), live.size);
    } else if (live.before_recording) {
      visit(kBefore, live.size);
    } else {
      visit(live.event ? GetGroup(static_cast<std::uint32_t>(*live.event - trace_.first_event))
                       : AllocationGroups::kRest,
            live.size);
    }
  }
  return range.first;
}

std::vector<std::int64_t> TimelineMaker::Highest(const TimelineRange& range) const {
  std::vector<std::int64_t> held(groups_.names.size(), 0);
  const std::int64_t from = ForEachAtFirst(range, [&held](std::uint32_t group, std::int64_t bytes) {
    if (group < held.size()) {
      held[group] = RunningAdd(held[group], bytes);
    }
  });
  std::vector<std::int64_t> highest = held;
  for (std::int64_t i = from + 1; i <= range.last; ++i) {
    const auto row = static_cast<std::uint32_t>(i);
    const std::int64_t change = replay_.ChangeAt(row);
    const std::uint32_t group = change != 0 ? GetGroup(row) : kBefore;
    if (group < held.size()) {
      held[group] = RunningAdd(held[group], change);
      highest[group] = i > range.first ? std::max(highest[group], held[group]) : held[group];
    }
    if (i == range.first) {
      highest = held;
    }
  }
  return highest;
}

void TimelineMaker::Walk(std::int64_t last, std::span<const std::uint32_t> chosen, bool layered,
                         const Visit& visit) const {
  WalkFrom({.last = last}, chosen, layered, visit);
}

void TimelineMaker::WalkFrom(const TimelineRange& range, std::span<const std::uint32_t> chosen,
                             bool layered, const Visit& visit) const {
  LayerSums sums(groups_.names.size(), chosen);
  const auto add = [&sums](std::uint32_t group, std::int64_t bytes) {
    group == kBefore ? sums.AddBefore(bytes) : sums.Add(group, bytes);
  };
  const std::int64_t from = ForEachAtFirst(range, add);
  TimelinePoint now{.event = from,
                    .time = from < 0 ? kNoTime : events_[static_cast<std::size_t>(from)].time,
                    .allocated = sums.total(),
                    .reserved = from < 0 ? reserved_base_ : range.at_first->reserved};
  visit(now, false, sums.held());
  for (std::int64_t i = from + 1; i <= range.last; ++i) {
    const auto row = static_cast<std::uint32_t>(i);
    const Event& event = events_[row];
    const std::int64_t change = replay_.ChangeAt(row);
    const std::int64_t reserved = ReservedChange(event);
    if (change != 0) {
      add(layered ? GetGroup(row) : AllocationGroups::kRest, change);
    }
    now = {i, event.time, sums.total(), RunningAdd(now.reserved, reserved)};
    visit(now, change != 0 || reserved != 0, sums.held());
  }
}

Timeline TimelineMaker::Make(const TimelineRange& range, std::span<const std::uint32_t> chosen,
                             bool layered) const {
  Collector collector(layered ? chosen.size() + 2 : 0, events_, range);
  TimelinePoint last;
  std::vector<std::int64_t> held;
  WalkFrom(range, chosen, layered,
           [&](const TimelinePoint& point, bool changed, std::span<const std::int64_t> layers) {
             collector.Step(point, changed, layers);
             last = point;
             if (point.event == range.last) {
               held.assign(layers.begin(), layers.end());
             }
           });
  return std::move(collector).Finish(last, held);
}

}  // namespace memtool
