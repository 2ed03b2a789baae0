#include "words/moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string EventText(std::int64_t number, const TraceSummary& s) {
  return number < 0 ? "the start, before " + Counted(s.events, "event")
                    : fmt::format("event {} of {}", FormatCount(number),
                                  FormatCount(static_cast<std::int64_t>(s.events)));
}

// "peak 22.55 GiB at event 3,737 of 22,331".
std::string PeakText(const TraceSummary& s) {
  return fmt::format("peak {} at {}", FormatTotal(s.peak_bytes), EventText(s.peak_event, s));
}

// What else is known of the whole trace.
std::string OthersText(const Recording& recording, const TraceSummary& s, bool ooms) {
  // Nothing is reserved and nothing runs out in a plan.
  if (recording.metadata.origin.kind == RecordingKind::kProgram) {
    return fmt::format(" · allocations {}", FormatTotal(s.reserved_end_bytes));
  }
  std::string text;
  // Some inputs do not tell what the allocator holds.
  if (s.reserved_peak_bytes > 0) {
    text += " · peak reserved " + FormatTotal(s.reserved_peak_bytes);
  }
  if (s.has_holes()) {
    text += " · does not reconcile";
  }
  if (s.ooms.empty()) {
    return text + " · no OOM recorded";
  }
  if (!ooms) {
    return text;
  }
  const std::string last = FormatCount(static_cast<std::int64_t>(s.ooms.back()));
  return text + (s.ooms.size() == 1
                     ? fmt::format(" · OOM at event {}", last)
                     : fmt::format(" · {} OOMs, the last at event {}", s.ooms.size(), last));
}

// "device 0: at the peak, event 3,737 of 22,331: 22.55 GiB · end 6.40 GiB · no OOM recorded": what
// is shown comes first.
std::string MomentLine(const Recording& recording, const MomentOfTrace& moment) {
  const TraceSummary& s = moment.summary;
  const Trace& trace = recording.history->traces[moment.trace];
  if (s.events == 0) {
    return TraceLine(recording, trace, s);
  }
  const std::int64_t last = static_cast<std::int64_t>(s.events) - 1;
  if (moment.event == last && ExtentOf(recording) == Extent::kLastEvent) {
    return TraceLine(recording, trace, s);
  }
  const bool failed =
      moment.event >= 0 && std::find(s.ooms.begin(), s.ooms.end(),
                                     static_cast<std::uint64_t>(moment.event)) != s.ooms.end();
  const bool peak = moment.event == s.peak_event;
  const std::string where = EventText(moment.event, s);
  std::string line = TraceText(trace) + ": ";
  line += failed                 ? "out of memory at " + where
          : peak                 ? "at the peak, " + where
          : moment.event == last ? "at the end"
          : moment.event < 0     ? "at " + where
                                 : "after " + where;
  line += ": " + FormatTotal(moment.live);
  line += peak ? "" : " · " + PeakText(s);
  line += moment.event == last ? "" : " · end " + FormatTotal(s.end_bytes);
  return line + OthersText(recording, s, !failed || s.ooms.size() > 1);
}

}  // namespace

std::string TraceLine(const Recording& recording, const Trace& trace, const TraceSummary& s) {
  if (s.events == 0 || ExtentOf(recording) == Extent::kLastEvent) {
    return fmt::format("{}: no history, only the end: {} · reserved {}", TraceText(trace),
                       FormatTotal(s.end_bytes), FormatTotal(s.reserved_end_bytes));
  }
  return fmt::format("{}: {} · end {}{}", TraceText(trace), PeakText(s), FormatTotal(s.end_bytes),
                     OthersText(recording, s, true));
}

std::vector<std::string> MomentLines(const Selection& loaded) {
  std::vector<const MomentOfTrace*> moments;
  for (const MomentOfTrace& moment : loaded.moments()) {
    moments.push_back(&moment);
  }
  // Those that hold most, where there are too many to read.
  constexpr std::size_t kMaxMomentLines = 8;
  constexpr std::size_t kFewMomentLines = 3;
  const bool many = moments.size() > kMaxMomentLines;
  if (many) {
    std::stable_sort(
        moments.begin(), moments.end(),
        [](const MomentOfTrace* a, const MomentOfTrace* b) { return a->live > b->live; });
  }
  std::vector<std::string> lines;
  for (const MomentOfTrace* moment : moments) {
    if (many && lines.size() == kFewMomentLines) {
      lines.push_back(fmt::format("… {} more devices, each with {} at most (memtool info)",
                                  moments.size() - kFewMomentLines, FormatTotal(moment->live)));
      break;
    }
    lines.push_back(MomentLine(loaded.recording(), *moment));
  }
  return lines;
}

}  // namespace memtool::commands
