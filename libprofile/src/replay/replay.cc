#include "memtool/profile/replay/replay.h"

#include <algorithm>
#include <array>
#include <initializer_list>

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

// By action: whether the size of an event is added, taken away, or neither. A table and no switch:
// allocations and frees alternate at random, so that half of the branches would be mispredicted.
using Signs = std::array<std::int32_t, static_cast<std::size_t>(Action::kOther) + 1>;
constexpr Signs MakeSigns(std::initializer_list<Action> added,
                          std::initializer_list<Action> taken) {
  Signs signs{};
  for (const Action action : added) {
    signs[static_cast<std::size_t>(action)] = 1;
  }
  for (const Action action : taken) {
    signs[static_cast<std::size_t>(action)] = -1;
  }
  return signs;
}
constexpr Signs kReserved = MakeSigns({Action::kSegmentAlloc, Action::kSegmentMap},
                                      {Action::kSegmentFree, Action::kSegmentUnmap});
constexpr Signs kLive = MakeSigns({Action::kAlloc, Action::kAdjust}, {Action::kFreeCompleted});

// Only what an adjustment adds is negative, so that nothing overflows.
std::int64_t Change(const Event& event, const Signs& signs) {
  const std::int64_t sign = signs[static_cast<std::size_t>(event.action)];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(event.size) *
                                   static_cast<std::uint64_t>(sign));
}

}  // namespace

std::int64_t ReservedChange(const Event& event) {
  return Change(event, kReserved);
}

std::int64_t LiveChange(const Event& event) {
  return Change(event, kLive);
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

// Pairs every free with the allocation that it ends, by address.
class Replay::Matcher {
 public:
  explicit Matcher(Replay& made) : made_(made) {}

  void Add(std::uint32_t i) {
    const Event& event = made_.events_[i];
    if (event.action == Action::kFreeRequested) {
      AddRequest(i, event.key);
    } else if (event.action == Action::kAlloc) {
      Settle(event.key, i);
      made_.double_allocs_ += live_.Put(event.key, i) != RowMap::kNone ? 1 : 0;
    } else if (event.action == Action::kFreeCompleted) {
      Settle(event.key, i);
      AddFree(i, event);
    }
  }
  [[nodiscard]] bool IsLive(std::uint64_t address) const {
    return live_.Get(address) != RowMap::kNone;
  }

 private:
  void AddRequest(std::uint32_t i, std::uint64_t address) {
    const auto events = made_.events_;
    const bool completes_next = i + 1 < events.size() && events[i + 1].key == address &&
                                events[i + 1].action == Action::kFreeCompleted;
    if (!completes_next) {
      Settle(address, i);
      waiting_.Put(address, static_cast<std::uint32_t>(made_.waiting_.size()));
      made_.waiting_.push_back({.request = i});
    }
  }
  void AddFree(std::uint32_t i, const Event& event) {
    const std::uint32_t opened = live_.Take(event.key);
    made_.partner_[i] = opened;
    if (opened == RowMap::kNone) {
      made_.unmatched_.push_back(i);
    } else {
      made_.partner_[opened] = i;
      made_.size_changes_ += made_.events_[opened].size != event.size ? 1 : 0;
    }
  }
  void Settle(std::uint64_t address, std::uint32_t event) {
    const std::uint32_t row = waiting_.size() == 0 ? RowMap::kNone : waiting_.Take(address);
    if (row != RowMap::kNone) {
      made_.waiting_[row].until = event;
    }
  }

  Replay& made_;
  RowMap live_;     // address → event
  RowMap waiting_;  // address → row of Replay::waiting_
};

Replay::Replay(const Recording& recording, const Trace& trace)
    : recording_(recording), trace_(trace), events_(GetEvents(recording, trace)) {
  // Files begin and end in the middle of a program, so some blocks have only one end:
  //   * a free without an allocation (unmatched_): allocated before the recording began;
  //   * a block in the final state that no event allocated (unopened_): likewise, and still live;
  //   * an allocation without a partner (unended_): still live at the end.
  // The first two count as live before the first event.
  partner_.assign(events_.size(), kNoEvent);
  Matcher matcher(*this);
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    matcher.Add(i);
  }
  ForEachLiveBlock(recording, trace, [&](std::uint32_t row, const Block& block) {
    if (!matcher.IsLive(block.address)) {
      unopened_.push_back(row);
    }
  });
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (partner_[i] == kNoEvent && events_[i].action == Action::kAlloc) {
      unended_.push_back(i);
    }
  }
  has_adjustments_ = recording.history->Has(Action::kAdjust);
  if (has_adjustments_) {
    base_without_address_ = FreedWithoutAddress();
  }
  preexisting_ =
      std::max<std::int64_t>(SaturatingSubtract(trace.preexisting_bytes, base_without_address_), 0);
}

// What events without an address free beyond what they took: it was there before the first event.
std::int64_t Replay::FreedWithoutAddress() const {
  std::int64_t net = 0;
  std::int64_t lowest = 0;
  for (const Event& event : events_) {
    net = RunningAdd(net, event.action == Action::kAdjust ? event.size : 0);
    lowest = std::min(lowest, net);
  }
  return SaturatingSubtract(0, lowest);
}

// A free gives back the size of its allocation, not the size in its own event: where the two differ
// (size_changes_), the running total would otherwise drift from what is live.
std::int64_t Replay::ChangeAt(std::uint32_t event) const {
  if (size_changes_ == 0) {
    return LiveChange(events_[event]);
  }
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

}  // namespace memtool
