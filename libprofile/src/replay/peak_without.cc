// How high a trace's peak would be without groups of its allocations.
#include <algorithm>
#include <numeric>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

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
// SuffixMaxima: the whole is events x (groups of an allocation) x log. Changes that are of no group
// between two that are give one value, their maximum, as nothing is asked for in between.
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
  void Begin() { Follow(0); }
  void Change(std::span<const std::uint32_t> members, std::int64_t change, std::uint32_t event) {
    const std::int64_t total = RunningAdd(total_, change);
    bool of_group = false;
    for (const std::uint32_t row : members) {
      if (row != Replay::kNoGroup) {
        maxima_.Push(since_, highest_);
        Group& group = groups_[row];
        Settle(group);
        group.held = RunningAdd(group.held, change);
        group.since = event + 1;
        of_group = true;
      }
    }
    total_ = total;
    highest_ = std::max(highest_, total);
    if (of_group) {
      Follow(event + 1);
    }
  }
  [[nodiscard]] std::vector<std::int64_t> Take() && {
    maxima_.Push(since_, highest_);
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

  // The highest total from `since` on is that of now.
  void Follow(std::uint64_t since) {
    since_ = since;
    highest_ = total_;
  }

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
  std::uint64_t since_ = 0;  // of what is not yet in maxima_
  std::int64_t highest_ = 0;
};

}  // namespace

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
