#include "memtool/profile/account/join_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

namespace {

// The recorders take their times from different clocks of one machine.
constexpr std::int64_t kClockSlack = 1'000'000;  // 1 ms

bool IsDriver(const Recording& recording, const Trace& trace) {
  return recording.history->domains[trace.blocks.value()].level == DomainLevel::kDriver;
}

// A part of an allocation that can be seen at an address.
struct Visible {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::uint64_t event = 0;  // row of History::events
};

// Everything that the driver's calls have made visible at the log's moment, by address.
std::vector<Visible> VisibleAt(const HistoryIndex& log, const MomentSpec& moment) {
  const History& history = log.history();
  std::vector<Visible> visible;
  KeySet<std::uint64_t> live;
  for (const Trace& trace : history.traces) {
    const auto last = ResolveMoment(log, trace, moment);
    if (!IsDriver(log.recording(), trace) || !last) {
      continue;
    }
    for (const LiveBlock& block : log.replay(trace).LiveAt(*last)) {
      if (!block.event || block.before_recording) {
        continue;
      }
      live.insert(*block.event);
      const Event& event = history.events[*block.event];
      if (history.domains[event.domain].kind != DomainKind::kVmm) {
        visible.push_back({block.address, block.size, *block.event});
      }
    }
  }
  const bool at_end = moment.kind == MomentSpec::Kind::kEnd;
  for (const AddressRange& range : history.mapped) {
    const bool begun = at_end || range.begin <= moment.nanos;
    const bool ended = range.end != kNoTime && (at_end || range.end <= moment.nanos);
    if (begun && !ended && live.contains(range.event)) {
      visible.push_back({range.address, range.size, range.event});
    }
  }
  std::sort(visible.begin(), visible.end(),
            [](const Visible& a, const Visible& b) { return a.address < b.address; });
  return visible;
}

// The moments of a log that may match a snapshot whose last event was at `time`. A log whose clock
// began with the machine has no such time: then it is the end, or, where the process has given all
// back by then, the peak.
std::vector<MomentSpec> MomentsBeside(std::int64_t time, Clock clock) {
  MomentSpec moment{.text = "end"};
  if (clock != Clock::kUnix) {
    return {moment, {.kind = MomentSpec::Kind::kPeak, .text = "peak"}};
  }
  if (time != kNoTime) {
    moment.kind = MomentSpec::Kind::kTime;
    moment.epoch = true;
    moment.nanos = SaturatingAdd(time, kClockSlack);
    constexpr std::int64_t kSecond = 1'000'000'000;
    moment.text =
        fmt::format("time:@{}.{:09}", moment.nanos / kSecond, std::abs(moment.nanos % kSecond));
  }
  return {moment};
}

std::uint64_t GetEnd(std::uint64_t address, std::int64_t size) {
  const std::uint64_t end = address + static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
  return end < address ? UINT64_MAX : end;
}

}  // namespace

// One snapshot matched against one log.
class FrameworkSegments::Match {
 public:
  Match(const Snapshot& snapshot, const std::vector<Visible>& visible) {
    for (const Range& segment : snapshot.segments) {
      const std::int64_t before = found_;
      AddSegment(segment, visible);
      const std::int64_t missing =
          SaturatingSubtract(segment.size, SaturatingSubtract(found_, before));
      missing_ = SaturatingAdd(missing_, missing);
      missing_segments_ += missing > 0 ? 1 : 0;
    }
  }

  [[nodiscard]] std::int64_t found() const { return found_; }
  // A caching allocator's segment is a whole allocation of the driver, or several. Addresses of
  // another process fit by chance, sizes do not.
  [[nodiscard]] bool Belongs() const { return found_ > 0 && whole_ >= found_ / 2; }
  [[nodiscard]] std::int64_t missing() const { return missing_; }
  [[nodiscard]] std::uint64_t missing_segments() const { return missing_segments_; }

  // Subtracts the found bytes from the events that allocate and free them; returns how many bytes
  // those allocations had.
  std::int64_t LeaveOut(History& history) const {
    std::int64_t holding = 0;
    for (const Trace& trace : history.traces) {
      KeyMap<std::uint64_t, std::int64_t> left;  // by key, of what is live
      for (std::uint64_t row = trace.first_event; row < trace.first_event + trace.event_count;
           ++row) {
        Event& event = history.events[row];
        if (const auto taken = taken_.find(row); taken != taken_.end()) {
          holding = SaturatingAdd(holding, event.size);
          left[event.key] =
              std::max<std::int64_t>(SaturatingSubtract(event.size, taken->second), 0);
        }
        Shrink(event, left);
      }
    }
    return holding;
  }

 private:
  void AddSegment(const Range& segment, const std::vector<Visible>& visible) {
    const std::uint64_t end = GetEnd(segment.address, segment.size);
    auto it = std::upper_bound(
        visible.begin(), visible.end(), segment.address,
        [](std::uint64_t address, const Visible& each) { return address < each.address; });
    // Live allocations do not overlap: only the last one before can reach into the segment.
    it = it == visible.begin() ? it : it - 1;
    for (; it != visible.end() && it->address < end; ++it) {
      const std::uint64_t from = std::max(it->address, segment.address);
      const std::uint64_t to = std::min(GetEnd(it->address, it->size), end);
      if (from < to) {
        const auto bytes = static_cast<std::int64_t>(to - from);
        taken_[it->event] = SaturatingAdd(taken_[it->event], bytes);
        found_ = SaturatingAdd(found_, bytes);
        const bool whole = bytes == it->size;
        whole_ = whole ? SaturatingAdd(whole_, bytes) : whole_;
      }
    }
  }

  static void Shrink(Event& event, KeyMap<std::uint64_t, std::int64_t>& left) {
    if (event.action != Action::kAlloc && event.action != Action::kFreeRequested &&
        event.action != Action::kFreeCompleted) {
      return;
    }
    const auto known = left.find(event.key);
    if (known == left.end()) {
      return;
    }
    const bool ends = event.action == Action::kFreeCompleted;
    event.size = known->second;
    event.action = event.size == 0 ? Action::kOther : event.action;
    if (ends) {
      left.erase(known);
    }
  }

  KeyMap<std::uint64_t, std::int64_t> taken_;  // by row of the allocation
  std::int64_t found_ = 0;
  std::int64_t whole_ = 0;  // of that, in allocations that the segments cover
  std::int64_t missing_ = 0;
  std::uint64_t missing_segments_ = 0;
};

Result<void> FrameworkSegments::Add(std::string name, const HistoryIndex& snapshot,
                                    const MomentSpec& moment, std::string_view device) {
  if (!snapshot.recording().state) {
    return {};
  }
  const History& history = snapshot.history();
  Snapshot added{.name = std::move(name)};
  const auto chosen = GetTraces(snapshot.recording(), device);
  MEMTOOL_TRY(chosen);
  for (const std::size_t row : *chosen) {
    const Trace& trace = history.traces[row];
    const auto last = ResolveMoment(snapshot, trace, moment);
    if (!last && moment.kind == MomentSpec::Kind::kOom) {
      continue;  // another device's
    }
    MEMTOOL_TRY(last);
    const StateAtMoment at = StateAt(snapshot, trace, *last);
    for (const Segment& segment : at.state.segments) {
      added.segments.push_back({segment.address, segment.size});
    }
    if (*last >= 0 && history.clock == Clock::kUnix) {
      const Event& event = GetEvents(snapshot.recording(), trace)[static_cast<std::size_t>(*last)];
      added.time = std::max(added.time, event.time);
    }
  }
  if (!added.segments.empty()) {
    snapshots_.push_back(std::move(added));
  }
  return {};
}

Result<std::optional<DriverJoin>> FrameworkSegments::Join(const HistoryIndex& log) {
  std::optional<Match> best;
  Snapshot* of = nullptr;
  MomentSpec at;
  for (Snapshot& snapshot : snapshots_) {
    if (snapshot.used) {
      continue;
    }
    for (MomentSpec& moment : MomentsBeside(snapshot.time, log.history().clock)) {
      Match match(snapshot, VisibleAt(log, moment));
      if (match.Belongs() && (!best || match.found() > best->found())) {
        best = std::move(match);
        of = &snapshot;
        at = std::move(moment);
      }
    }
  }
  if (!best) {
    return std::nullopt;
  }
  of->used = true;
  History history = log.history();
  const std::int64_t holding = best->LeaveOut(history);
  RecordingBuilder builder(log.recording());
  builder.SetHistory(std::move(history));
  auto rest = std::move(builder).Finish();
  MEMTOOL_TRY(rest);
  return DriverJoin{.rest = *std::move(rest),
                    .snapshot = of->name,
                    .found = best->found(),
                    .missing = best->missing(),
                    .segments = of->segments.size(),
                    .missing_segments = best->missing_segments(),
                    .holding = holding,
                    .moment = std::move(at)};
}

}  // namespace memtool
