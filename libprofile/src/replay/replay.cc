#include "memtool/profile/replay/replay.h"

#include <algorithm>
#include <numeric>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/label_text.h"

namespace memtool {

namespace {

// Live blocks of the final state that belong to a trace, with their rows.
template <class Visit>
void ForEachLiveBlock(const Recording& recording, const Trace& trace, Visit visit) {
  if (!recording.state) {
    return;
  }
  const bool host = trace.device < 0;
  for (const Segment& segment : recording.state->segments) {
    if (segment.host != host || (!host && segment.device != trace.device)) {
      continue;
    }
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const std::uint32_t row = segment.first_block + i;
      const Block& block = recording.state->blocks[row];
      if (block.state != BlockState::kInactive) {
        visit(row, block);
      }
    }
  }
}

std::int64_t ReservedEnd(const Recording& recording, const Trace& trace) {
  std::int64_t bytes = 0;
  if (recording.state) {
    const bool host = trace.device < 0;
    for (const Segment& segment : recording.state->segments) {
      if (segment.host == host && (host || segment.device == trace.device)) {
        bytes = SaturatingAdd(bytes, segment.size);
      }
    }
  }
  return bytes;
}

// Answers "what was the highest value since time T?" for any T while values are still arriving.
//
// Only values that no later value has reached can ever be the answer, so a new value removes all
// smaller or equal ones before it. What remains is a stack with rising times and falling values:
// its first point at or after T is the maximum since T. Each value is pushed and removed at most
// once: a trace costs linear time, and a question a search.
class SuffixMaxima {
 public:
  void Push(std::uint64_t time, std::int64_t value) {
    while (!points_.empty() && points_.back().value <= value) {
      points_.pop_back();
    }
    points_.push_back({time, value});
  }
  // The maximum of all values.
  [[nodiscard]] std::int64_t Max() const { return points_.front().value; }
  // The maximum of the values pushed at `since` or later.
  [[nodiscard]] std::int64_t MaxSince(std::uint64_t since) const {
    // A galloping search: groups that allocate often ask about the last few points, for which a
    // plain binary search over the whole stack would be the larger part of the cost.
    const std::size_t size = points_.size();
    std::size_t stride = 1;
    while (stride < size && points_[size - stride].time >= since) {
      stride *= 2;
    }
    const auto from = points_.end() - static_cast<std::ptrdiff_t>(std::min(stride, size));
    const auto at =
        std::lower_bound(from, points_.end(), since,
                         [](const Point& p, std::uint64_t time) { return p.time < time; });
    return at->value;
  }

 private:
  struct Point {
    std::uint64_t time;
    std::int64_t value;
  };
  std::vector<Point> points_;
};

// The highest total without each of several groups, from one pass over the events.
//
// For a group G this is max over t of total(t) - held_G(t). Replaying the trace once per group
// would be rows x events. But held_G is constant between two events of G, and there the maximum of
// the difference is the maximum of the total, less a constant. So a group is looked at only when
// its own bytes change (Settle), and the maximum of the total since its last change comes from
// SuffixMaxima: the whole is events x (groups of an allocation) x log.
class PeaksWithout {
 public:
  explicit PeaksWithout(std::size_t count) : groups_(count) {}

  // What was there before the first event, then Begin(), then each event's change, in order.
  void AddBefore(std::span<const std::uint32_t> members, std::int64_t bytes) {
    total_ = RunningAdd(total_, bytes);
    for (const std::uint32_t row : members) {
      if (row != Replay::kNoGroup) {
        groups_[row].held = RunningAdd(groups_[row].held, bytes);
      }
    }
  }
  void Begin() { maxima_.Push(0, total_); }
  void Change(std::span<const std::uint32_t> members, std::int64_t change, std::uint32_t event) {
    for (const std::uint32_t row : members) {
      if (row != Replay::kNoGroup) {
        Group& group = groups_[row];
        Settle(group);
        group.held = RunningAdd(group.held, change);
        group.since = event + 1;
      }
    }
    total_ = RunningAdd(total_, change);
    maxima_.Push(event + 1, total_);
  }
  [[nodiscard]] std::vector<std::int64_t> Take() && {
    std::vector<std::int64_t> peaks;
    peaks.reserve(groups_.size());
    for (Group& group : groups_) {
      Settle(group);
      peaks.push_back(group.peak);
    }
    return peaks;
  }

 private:
  struct Group {
    std::int64_t held = 0;
    std::uint64_t since = 0;  // the event after the last change
    std::int64_t peak = INT64_MIN;
  };

  // Closes the stretch in which the group's bytes stayed the same. The test before the search is
  // what makes it cheap: not even the highest total of the whole trace so far, with what the group
  // holds now, beats the peak that it has already, so the search cannot either.
  void Settle(Group& group) const {
    if (Without(maxima_.Max(), group) > group.peak) {
      group.peak = std::max(group.peak, Without(maxima_.MaxSince(group.since), group));
    }
  }
  static std::int64_t Without(std::int64_t total, const Group& group) {
    return IsClamped(total) || IsClamped(group.held) ? INT64_MAX
                                                     : SaturatingSubtract(total, group.held);
  }

  std::vector<Group> groups_;
  SuffixMaxima maxima_;
  std::int64_t total_ = 0;
};

}  // namespace

std::int64_t ReservedChange(const Event& event) {
  switch (event.action) {
    case Action::kSegmentAlloc:
    case Action::kSegmentMap:
      return event.size;
    case Action::kSegmentFree:
    case Action::kSegmentUnmap:
      return SaturatingSubtract(0, event.size);
    default:
      return 0;
  }
}

std::int64_t LiveChange(const Event& event) {
  switch (event.action) {
    case Action::kAlloc:
    case Action::kAdjust:
      return event.size;
    case Action::kFreeCompleted:
      return SaturatingSubtract(0, event.size);
    default:
      return 0;
  }
}

std::span<const Event> GetEvents(const Recording& recording, const Trace& trace) {
  return std::span(recording.history->events).subspan(trace.first_event, trace.event_count);
}

namespace {

bool Continues(const Recording& recording, std::uint64_t row) {
  const History& history = *recording.history;
  if (history.labels.empty()) {
    return false;
  }
  const auto labels = recording.Labels(history.labels[row]);
  return std::any_of(labels.begin(), labels.end(), [&recording](const Label& label) {
    return recording.Text(label.key) == kContinues;
  });
}

}  // namespace

bool Replay::TakesMemory(std::uint32_t event) const {
  const Event& made = events_[event];
  return made.action == Action::kAlloc
             ? event >= trace_.listed_before && !Continues(recording_, trace_.first_event + event)
             : made.action == Action::kAdjust && made.size > 0;
}

std::uint32_t Replay::EndOf(std::uint32_t event) const {
  std::uint32_t end = partner_[event];
  while (end != kNoEvent && end + std::size_t{1} < events_.size() &&
         events_[end + 1].action == Action::kAlloc &&
         Continues(recording_, trace_.first_event + end + 1)) {
    end = partner_[end + 1];
  }
  return end;
}

Replay::Replay(const Recording& recording, const Trace& trace)
    : recording_(recording), trace_(trace), events_(GetEvents(recording, trace)) {
  // Pairs every free with the allocation that it ends, by address. Files begin and end in the
  // middle of a program, so some blocks have only one end:
  //   * a free without an allocation (unmatched_): allocated before the recording began;
  //   * a block in the final state that no event allocated (unopened_): likewise, and still live;
  //   * an allocation without a partner: still live at the end.
  // The first two count as live before the first event.
  partner_.assign(events_.size(), kNoEvent);
  RowMap live;
  RowMap waiting;  // address → row of waiting_
  const auto settle = [&](std::uint64_t address, std::uint32_t event) {
    if (const std::uint32_t row = waiting.size() == 0 ? RowMap::kNone : waiting.Take(address);
        row != RowMap::kNone) {
      waiting_[row].until = event;
    }
  };
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.action == Action::kFreeRequested) {
      const bool completes_next = i + 1 < events_.size() && events_[i + 1].key == event.key &&
                                  events_[i + 1].action == Action::kFreeCompleted;
      if (!completes_next) {
        settle(event.key, i);
        waiting.Put(event.key, static_cast<std::uint32_t>(waiting_.size()));
        waiting_.push_back({.request = i});
      }
    } else if (event.action == Action::kAlloc) {
      settle(event.key, i);
      double_allocs_ += live.Put(event.key, i) != RowMap::kNone ? 1 : 0;
    } else if (event.action == Action::kFreeCompleted) {
      settle(event.key, i);
      const std::uint32_t opened = live.Take(event.key);
      partner_[i] = opened;
      if (opened == RowMap::kNone) {
        unmatched_.push_back(i);
      } else {
        partner_[opened] = i;
        size_changes_ += events_[opened].size != event.size ? 1 : 0;
      }
    }
  }
  ForEachLiveBlock(recording, trace, [&](std::uint32_t row, const Block& block) {
    if (live.Get(block.address) == RowMap::kNone) {
      unopened_.push_back(row);
    }
  });
  // What such events free without having allocated it was there before the first event.
  std::int64_t net = 0;
  std::int64_t lowest = 0;
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.action == Action::kAlloc && partner_[i] == kNoEvent) {
      unended_.push_back(i);
    }
    has_adjustments_ = has_adjustments_ || event.action == Action::kAdjust;
    net = RunningAdd(net, event.action == Action::kAdjust ? event.size : 0);
    lowest = std::min(lowest, net);
  }
  base_without_address_ = SaturatingSubtract(0, lowest);
  preexisting_ =
      std::max<std::int64_t>(SaturatingSubtract(trace.preexisting_bytes, base_without_address_), 0);
}

// A free gives back the size of its allocation, not the size in its own event: where the two differ
// (size_changes_), the running total would otherwise drift from what is live.
std::int64_t Replay::ChangeAt(std::uint32_t event) const {
  const std::uint32_t other = partner_[event];
  const bool ends = events_[event].action == Action::kFreeCompleted && other != kNoEvent;
  return ends ? SaturatingSubtract(0, events_[other].size) : LiveChange(events_[event]);
}

TraceSummary Replay::Summarize() const {
  TraceSummary s;
  s.device = trace_.device;
  s.events = events_.size();
  s.double_allocs = double_allocs_;
  s.size_changes = size_changes_;
  s.unmatched_frees = unmatched_.size();
  for (const std::uint32_t event : unmatched_) {
    s.unmatched_bytes = SaturatingAdd(s.unmatched_bytes, events_[event].size);
  }
  s.unopened = unopened_.size();
  for (const std::uint32_t row : unopened_) {
    s.unopened_bytes = SaturatingAdd(s.unopened_bytes, recording_.state->blocks[row].requested);
  }
  ForEachLiveBlock(recording_, trace_, [&s](std::uint32_t, const Block& block) {
    std::int64_t& sum =
        block.state == BlockState::kActive ? s.live_block_bytes : s.pending_free_bytes;
    sum = SaturatingAdd(sum, block.requested);
  });
  // No event says how much was reserved at the start: it is what there is at the end less the sum
  // of all changes.
  std::int64_t net = 0;
  std::int64_t lowest = 0;
  for (const Event& event : events_) {
    net = RunningAdd(net, ReservedChange(event));
    lowest = std::min(lowest, net);
  }
  s.preexisting_bytes = trace_.preexisting_bytes;
  s.base_bytes = SaturatingAdd(SaturatingAdd(s.unmatched_bytes, s.unopened_bytes),
                               SaturatingAdd(preexisting_, base_without_address_));
  s.start_bytes = s.base_bytes;
  // Without a state at the end, what the trace says about segments before the first event counts.
  s.reserved_end_bytes = recording_.state ? ReservedEnd(recording_, trace_)
                                          : RunningAdd(net, trace_.preexisting_reserved);
  // Never less than what the events free: the state may be of a later moment than the last event.
  s.reserved_base_bytes =
      IsClamped(net) || IsClamped(s.reserved_end_bytes)
          ? INT64_MAX
          : std::max(SaturatingSubtract(s.reserved_end_bytes, net), SaturatingSubtract(0, lowest));
  AddPeaks(s);
  if (!recording_.state) {
    s.live_block_bytes = s.end_bytes;  // the input lists no blocks to compare with
  }
  return s;
}

void Replay::AddPeaks(TraceSummary& summary) const {
  std::int64_t live = summary.peak_bytes = summary.base_bytes;
  std::int64_t reserved = summary.reserved_peak_bytes = summary.reserved_base_bytes;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    live = RunningAdd(live, ChangeAt(static_cast<std::uint32_t>(i)));
    summary.start_bytes = i < trace_.listed_before ? live : summary.start_bytes;
    if (live > summary.peak_bytes) {
      summary.peak_bytes = live;
      summary.peak_event = static_cast<std::int64_t>(i);
    }
    const std::int64_t change = ReservedChange(events_[i]);
    summary.segment_events += change != 0 ? 1 : 0;
    reserved = RunningAdd(reserved, change);
    if (reserved > summary.reserved_peak_bytes) {
      summary.reserved_peak_bytes = reserved;
      summary.reserved_peak_event = static_cast<std::int64_t>(i);
    }
    if (events_[i].action == Action::kOom) {
      summary.ooms.push_back(i);
    }
  }
  summary.end_bytes = live;
  if (!recording_.state) {
    summary.reserved_end_bytes = reserved;
  }
}

// Addresses, sorted, whose free was requested before event `end` and has not completed.
std::vector<std::uint64_t> Replay::PendingAt(std::uint32_t end) const {
  std::vector<std::uint64_t> pending;
  for (const auto& [request, until] : waiting_) {
    if (request < end && until >= end) {
      pending.push_back(events_[request].key);
    }
  }
  // One that completes in the next event is not among them.
  if (end > 0 && events_[end - 1].action == Action::kFreeRequested) {
    pending.push_back(events_[end - 1].key);
  }
  std::sort(pending.begin(), pending.end());
  return pending;
}

// What events without an address left before event `end`, and what they had found.
std::int64_t Replay::WithoutAddressAt(std::uint32_t end) const {
  std::int64_t bytes = base_without_address_;
  for (std::uint32_t i = 0; has_adjustments_ && i < end; ++i) {
    bytes = RunningAdd(bytes, events_[i].action == Action::kAdjust ? events_[i].size : 0);
  }
  return bytes;
}

std::vector<LiveBlock> Replay::LiveAt(std::int64_t last) const {
  const auto end = static_cast<std::uint32_t>(last + 1);
  const std::vector<std::uint64_t> pending = PendingAt(end);
  std::vector<LiveBlock> blocks;
  const auto is_pending = [&pending](std::uint64_t address) {
    return std::binary_search(pending.begin(), pending.end(), address);
  };
  const auto add = [&](std::uint32_t i) {
    blocks.push_back({.address = events_[i].key,
                      .size = events_[i].size,
                      .stack = events_[i].stack,
                      .event = trace_.first_event + i,
                      .pending_free = is_pending(events_[i].key)});
  };
  // What ends later began as an allocation: a free's partner is before it. Events are looked at
  // only where they are live.
  for (std::uint32_t i = 0; i < end; ++i) {
    if (partner_[i] >= end && partner_[i] != kNoEvent) {
      add(i);
    }
  }
  std::for_each(unended_.begin(), std::lower_bound(unended_.begin(), unended_.end(), end), add);
  for (const std::uint32_t i : unmatched_) {
    if (i >= end) {
      blocks.push_back({.address = events_[i].key,
                        .size = events_[i].size,
                        .event = trace_.first_event + i,
                        .before_recording = true,
                        .pending_free = is_pending(events_[i].key)});
    }
  }
  for (const std::uint32_t row : unopened_) {
    const Block& block = recording_.state->blocks[row];
    const bool at_end = end == events_.size();
    blocks.push_back({.address = block.address,
                      .size = block.requested,
                      .stack = block.stack,
                      .block = row,
                      .before_recording = true,
                      .pending_free = at_end ? block.state == BlockState::kPendingFree
                                             : is_pending(block.address)});
  }
  if (preexisting_ > 0) {
    blocks.push_back({.size = preexisting_, .before_recording = true});
  }
  if (const std::int64_t bytes = WithoutAddressAt(end); bytes > 0) {
    blocks.push_back({.size = bytes, .without_address = true});
  }
  std::sort(blocks.begin(), blocks.end(), [](const LiveBlock& a, const LiveBlock& b) {
    return a.address != b.address ? a.address < b.address : a.event < b.event;
  });
  return blocks;
}

// The groups of a stack, or those for what has no frames.
std::span<const std::uint32_t> Replay::GroupsOfStack(
    const SharedGroups& groups, StackId stack,
    std::span<const std::uint32_t> without_frames) const {
  if (!HasFrames(stack)) {
    return without_frames;
  }
  const std::uint32_t first = groups.first[stack.value()];
  return groups.members.subspan(first, groups.first[stack.value() + 1] - first);
}

// The groups of what an event that changes live bytes is about.
std::span<const std::uint32_t> Replay::GroupsOfEvent(const SharedGroups& groups,
                                                     std::uint32_t event) const {
  if (events_[event].action == Action::kAdjust) {
    return groups.without_address;
  }
  const bool is_free = events_[event].action == Action::kFreeCompleted;
  const std::uint32_t opened = is_free ? partner_[event] : event;
  if (opened == kNoEvent) {
    return groups.before_recording;
  }
  return GroupsOfStack(groups, events_[opened].stack, groups.without_stack);
}

std::vector<std::int64_t> Replay::PeakWithout(const Groups& groups) const {
  std::vector<std::uint32_t> first(groups.of_stack.size() + 1);
  std::iota(first.begin(), first.end(), 0U);
  return PeakWithout(SharedGroups{.first = first,
                                  .members = groups.of_stack,
                                  .before_recording = {&groups.before_recording, 1},
                                  .without_stack = {&groups.without_stack, 1},
                                  .count = groups.count,
                                  .without_address = {&groups.without_address, 1}});
}

std::vector<std::int64_t> Replay::PeakWithout(const SharedGroups& groups) const {
  PeaksWithout peaks(groups.count);
  const std::span<const std::uint32_t> before = groups.before_recording;
  for (const std::uint32_t i : unmatched_) {
    peaks.AddBefore(before, events_[i].size);
  }
  for (const std::uint32_t row : unopened_) {
    const Block& block = recording_.state->blocks[row];
    peaks.AddBefore(GroupsOfStack(groups, block.stack, groups.before_recording), block.requested);
  }
  peaks.AddBefore(before, preexisting_);
  peaks.AddBefore(groups.without_address, base_without_address_);
  peaks.Begin();
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const bool is_free = event.action == Action::kFreeCompleted;
    if (!is_free && event.action != Action::kAlloc && event.action != Action::kAdjust) {
      continue;
    }
    // ChangeAt(i), which need not be called: a free gives back what its allocation took.
    const std::uint32_t allocation = is_free ? partner_[i] : kNoEvent;
    const std::int64_t size = allocation == kNoEvent ? event.size : events_[allocation].size;
    peaks.Change(GroupsOfEvent(groups, i), is_free ? SaturatingSubtract(0, size) : size, i);
  }
  return std::move(peaks).Take();
}

}  // namespace memtool
