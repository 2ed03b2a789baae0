// Any input with a history: replay, every kind of moment, the allocator's state in between, a
// timeline, and the join with itself. What must hold of every history is checked on the way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "memtool/formats/load.h"
#include "memtool/profile/account/join_driver.h"
#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace {

using namespace memtool;

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// The live blocks at an event sum to the replayed bytes, unless sums stick at the end of the range.
void CheckLive(const Recording& recording, const Trace& trace, const Replay& replay) {
  const TraceSummary summary = replay.Summarize();
  const auto events = EventsOf(recording, trace);
  const bool adjusts = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.action == Action::kAdjust;
  });
  const auto count = static_cast<std::int64_t>(events.size());
  for (const std::int64_t last : {std::int64_t{-1}, count / 2 - 1, count - 1}) {
    std::int64_t replayed = summary.base_bytes;
    for (std::int64_t i = 0; i <= last; ++i) {
      replayed = SaturatingAdd(replayed, LiveChange(events[static_cast<std::size_t>(i)]));
    }
    std::int64_t live = 0;
    for (const LiveBlock& block : replay.LiveAt(last)) {
      live = SaturatingAdd(live, block.size);
    }
    const bool odd = summary.double_allocs > 0 || summary.size_changes > 0 || adjusts;
    const bool stuck = live == INT64_MAX || replayed == INT64_MAX || replayed == INT64_MIN ||
                       summary.base_bytes == INT64_MAX || summary.peak_bytes == INT64_MAX;
    Require(odd || stuck || live == replayed);
  }
}

void CheckStates(const Recording& recording, const Trace& trace) {
  const auto count = static_cast<std::int64_t>(trace.event_count);
  for (const std::int64_t last : {std::int64_t{-1}, (count - 1) / 3, count - 1}) {
    const StateAtMoment at = StateAt(recording, trace, last);
    Require(at.estimated.size() == at.state.segments.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  formats::LoadOptions options;
  options.limits.unpacked_bytes = 16U << 20U;
  const auto recording = formats::Load(
      formats::MakeMemorySource(std::as_bytes(std::span(data, size))), "input", options);
  if (!recording || !recording->history) {
    return 0;
  }
  const Filter filter;
  for (const Trace& trace : recording->history->traces) {
    const Replay replay(*recording, trace);
    CheckLive(*recording, trace, replay);
    CheckStates(*recording, trace);
    const View view(*recording, filter);
    const auto groups = GroupAllocations(view, *ParseBy("filefunction"));
    Require(groups.has_value());
    const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
    const TimelineMaker maker(*recording, trace, replay, *groups);
    for (const std::size_t points : {std::size_t{0}, std::size_t{7}}) {
      static_cast<void>(maker.Make({.first = -1, .last = last, .points = points}, {}, true));
    }
  }
  for (const char* text : {"end", "start", "peak", "peak:reserved", "job-peak", "oom", "event:1",
                           "time:0.5s", "step:0"}) {
    std::vector<MomentOfTrace> moments;
    static_cast<void>(AtMoment(*recording, *ParseMoment(text), "", &moments));
  }
  FrameworkSegments segments;
  static_cast<void>(segments.Remember("input", *recording, {}, ""));
  Recording log = *recording;
  static_cast<void>(segments.TakeFrom(log));
  return 0;
}
