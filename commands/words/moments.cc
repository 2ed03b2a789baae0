#include "words/moments.h"

#include <fmt/format.h>

#include "memtool/profile/base/sizes.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string EventText(std::int64_t number) {
  return number < 0 ? std::string("the start") : "event " + FormatCount(number);
}

// "event 3,737 of 22,331".
std::string PeakText(const TraceSummary& s) {
  return s.peak_event < 0
             ? "the start, before " + Counted(s.events, "event")
             : EventText(s.peak_event) + " of " + FormatCount(static_cast<std::int64_t>(s.events));
}

}  // namespace

std::string TraceLine(const Recording& recording, const Trace& trace, const TraceSummary& s) {
  if (s.events == 0) {
    return fmt::format("{}: no history, only the end: {} · reserved {}", TraceText(trace),
                       FormatTotal(s.end_bytes), FormatTotal(s.reserved_end_bytes));
  }
  std::string line = fmt::format("{}: peak {} at {} · end {}", TraceText(trace),
                                 FormatTotal(s.peak_bytes), PeakText(s), FormatTotal(s.end_bytes));
  // Nothing is reserved and nothing runs out in a plan.
  if (recording.metadata.origin.kind == RecordingKind::kProgram) {
    return line + fmt::format(" · allocations {}", FormatTotal(s.reserved_end_bytes));
  }
  // Some inputs do not tell what the allocator holds.
  if (s.reserved_peak_bytes > 0) {
    line += " · reserved " + FormatTotal(s.reserved_peak_bytes);
  }
  if (s.has_holes()) {
    line += " · does not reconcile";
  }
  if (s.ooms.empty()) {
    return line + " · no OOM recorded";
  }
  const std::string last = FormatCount(static_cast<std::int64_t>(s.ooms.back()));
  return line + (s.ooms.size() == 1
                     ? fmt::format(" · OOM at event {}", last)
                     : fmt::format(" · {} OOMs, the last at event {}", s.ooms.size(), last));
}

std::vector<std::string> MomentLines(const Selection& loaded) {
  std::vector<std::string> lines;
  for (const MomentOfTrace& moment : loaded.moments()) {
    const TraceSummary& s = moment.summary;
    std::string line =
        TraceLine(loaded.recording(), loaded.recording().history->traces[moment.trace], s);
    if (s.events > 0 && moment.event != s.peak_event) {
      line += (moment.event < 0 ? " · shown: " : " · shown: after ") + EventText(moment.event);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace memtool::commands
