// Any input with a history: replay, every kind of moment, the allocator's state in between, a
// timeline, and the join with itself. Checks on the way what must hold for every history.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/reading.h"
#include "memtool/formats/open.h"
#include "memtool/profile/account/join_driver.h"
#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"
#include "targets.h"

namespace {

using namespace memtool;
using namespace memtool::fuzz;

// The live blocks at an event sum to the replayed bytes, unless sums stick at the end of the range.
void CheckLive(const HistoryIndex& index, const Trace& trace) {
  const Replay& replay = index.replay(trace);
  const TraceSummary& summary = index.summary(trace);
  const auto events = GetEvents(index.recording(), trace);
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
    Require(odd || stuck || live == replayed, "live blocks sum to the replayed bytes");
  }
}

void CheckStates(const HistoryIndex& index, const Trace& trace) {
  const auto count = static_cast<std::int64_t>(trace.event_count);
  for (const std::int64_t last : {std::int64_t{-1}, (count - 1) / 3, count - 1}) {
    const StateAtMoment at = StateAt(index, trace, last);
    Require(at.estimated.size() == at.state.segments.size(), "a mark for each segment");
  }
}

}  // namespace

int memtool::fuzz::FuzzHistory(const std::uint8_t* data, std::size_t size) {
  formats::OpenOptions options;
  options.limits.unpacked_bytes = 16U << 20U;
  auto recording = formats::OpenRecording(
      formats::MakeMemorySource(std::as_bytes(std::span(data, size))), "input", options);
  if (!recording || !recording->history) {
    return 0;
  }
  const HistoryIndex index(*std::move(recording));
  const Filter filter;
  for (const Trace& trace : index.history().traces) {
    CheckLive(index, trace);
    CheckStates(index, trace);
    const View view(index.recording(), filter);
    const auto groups = GroupAllocations(view, *ParseBy("filefunction"));
    Require(groups.has_value(), "groups of allocations");
    const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
    const TimelineMaker maker(index.recording(), trace, index.replay(trace), *groups,
                              index.summary(trace).reserved_base_bytes);
    for (const std::size_t points : {std::size_t{0}, std::size_t{7}}) {
      static_cast<void>(maker.Make({.first = -1, .last = last, .points = points}, {}, true));
    }
  }
  for (const char* text : {"end", "start", "peak", "peak:reserved", "job-peak", "oom", "event:1",
                           "time:0.5s", "step:0"}) {
    static_cast<void>(AtMoment(index, *ParseMoment(text), ""));
  }
  FrameworkSegments segments;
  static_cast<void>(segments.Add("input", index, {}, ""));
  Require(segments.Join(index).has_value(), "a join with itself");
  return 0;
}
