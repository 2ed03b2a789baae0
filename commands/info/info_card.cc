#include "info/info_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

std::string TimeText(std::int64_t nanos) {
  const auto seconds = static_cast<std::time_t>(nanos / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) {
    return "out of range";
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string Count(std::uint64_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

StackCoverage Coverage(const Recording& recording, const std::vector<LiveBlock>& live) {
  StackCoverage coverage;
  for (const LiveBlock& block : live) {
    const bool frames = block.stack.valid() && !recording.Stack(block.stack).empty();
    std::int64_t& sum = frames                   ? coverage.with_stack
                        : block.before_recording ? coverage.before_recording
                                                 : coverage.without_stack;
    sum = SaturatingAdd(sum, block.size);
  }
  return coverage;
}

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string RecordingText(const DeviceCard& card) {
  const TraceSummary& s = card.summary;
  if (s.events == 0) {
    return "no events: only the state at the end is known";
  }
  std::string text = card.overflowed ? "the ring overflowed: the oldest events are gone"
                     : s.unmatched_frees + s.ghosts > 0 || s.start_bytes > 0
                         ? "began late"
                         : "complete from the first allocation on";
  if (s.unmatched_frees > 0) {
    text += fmt::format("; {} free{} without an allocation ({})", Count(s.unmatched_frees),
                        s.unmatched_frees == 1 ? "" : "s", FormatSize(s.unmatched_bytes));
  }
  if (s.ghosts > 0) {
    text += fmt::format("; {} live block{} that no event opened ({})", Count(s.ghosts),
                        s.ghosts == 1 ? "" : "s", FormatSize(s.ghost_bytes));
  }
  if (s.standing_bytes > 0) {
    text += fmt::format("; {} more, of which the file gives the sum", FormatSize(s.standing_bytes));
  }
  if (s.start_bytes > s.base_bytes) {
    text += fmt::format("; the first events list {} of before",
                        FormatSize(s.start_bytes - s.base_bytes));
  }
  return text;
}

std::string AtEvent(std::int64_t event) {
  return event < 0 ? "at the start" : "@" + FormatCount(event);
}

// What only an input that lists segments and blocks can say.
void StateRows(const TraceSummary& s, Rows& rows) {
  rows.emplace_back("  reserved",
                    fmt::format("peak {} {} · end {}{}", FormatSize(s.reserved_peak_bytes),
                                AtEvent(s.reserved_peak_event), FormatSize(s.reserved_end_bytes),
                                s.segment_events == 0 ? " (no segment events)" : ""));
  rows.emplace_back(
      "  replay",
      s.reconciles()
          ? fmt::format("reconciles: ends at the sum of live{} blocks, {} bytes",
                        s.pending_free_bytes > 0 ? " and pending" : "", FormatCount(s.end_bytes))
          : fmt::format(
                "DOES NOT RECONCILE: ends at {} bytes, but the blocks hold {}: the trace has "
                "holes",
                FormatCount(s.end_bytes),
                FormatCount(SaturatingAdd(s.live_block_bytes, s.pending_free_bytes))));
}

void DeviceRows(const DeviceCard& card, const Trace& trace, bool has_state, Rows& rows) {
  const TraceSummary& s = card.summary;
  rows.emplace_back(TraceText(trace), fmt::format("{} events", Count(s.events)));
  rows.emplace_back("  live", fmt::format("peak {} {} · end {} · start {}",
                                          FormatSize(s.peak_bytes), AtEvent(s.peak_event),
                                          FormatSize(s.end_bytes), FormatSize(s.start_bytes)));
  if (has_state) {
    StateRows(s, rows);
  }
  rows.emplace_back("  recording", RecordingText(card));
  const StackCoverage& c = card.at_peak;
  const double all = static_cast<double>(c.with_stack) + static_cast<double>(c.before_recording) +
                     static_cast<double>(c.without_stack);
  if (all > 0) {
    const auto percent = [all](std::int64_t part) {
      return 100.0 * static_cast<double>(part) / all;
    };
    rows.emplace_back("  stacks", fmt::format("at the peak {:.1f}% of the bytes have one; {:.1f}% "
                                              "were there before the recording, {:.1f}% have no "
                                              "frames",
                                              percent(c.with_stack), percent(c.before_recording),
                                              percent(c.without_stack)));
  }
  if (!s.ooms.empty()) {
    rows.emplace_back("  OOM", fmt::format("{} recorded, the last at event {}", s.ooms.size(),
                                           Count(s.ooms.back())));
  }
}

// Which --at words this history understands.
std::string MomentsText(const Recording& recording) {
  const History& history = *recording.history;
  if (history.events.empty()) {
    return "end";
  }
  std::string text = "start, end, peak, peak:reserved, event:N";
  const bool times = std::any_of(history.events.begin(), history.events.end(),
                                 [](const Event& event) { return event.time != kNoTime; });
  text += times ? ", time:S, job-peak" : "";
  const bool oom = std::any_of(history.events.begin(), history.events.end(),
                               [](const Event& event) { return event.action == Action::kOom; });
  text += oom ? ", oom" : "";
  return text + (history.marks.empty()
                     ? ""
                     : fmt::format(", mark:NAME ({} marks, such as '{}')",
                                   Count(history.marks.size()), history.marks.front().name));
}

void HistoryRows(const Recording& recording, const InputCard& card, Rows& rows) {
  for (std::size_t i = 0; i < card.devices.size(); ++i) {
    DeviceRows(card.devices[i], recording.history->traces[i], recording.state != nullptr, rows);
  }
  rows.emplace_back("moments", MomentsText(recording));
  if (recording.state) {
    rows.emplace_back("segments",
                      fmt::format("{} with {} blocks", Count(recording.state->segments.size()),
                                  Count(recording.state->blocks.size())));
  }
  std::string settings;
  for (const Setting& setting : recording.settings) {
    // Sixteen lines of rounding steps help nobody in a card; JSON has them.
    if (!setting.value.empty() && setting.name.find("roundup") == std::string::npos) {
      settings += (settings.empty() ? "" : " · ") + setting.name + " " + setting.value;
    }
  }
  if (!settings.empty()) {
    rows.emplace_back("settings", settings);
  }
}

}  // namespace

InputCard MakeCard(const std::shared_ptr<const Recording>& read) {
  const Recording& recording = *read;
  InputCard card;
  if (recording.profile) {
    const Filter all;
    const View view(recording, all);
    for (std::size_t i = 0; i < recording.profile->types.size(); ++i) {
      const auto choice = ChooseValue(recording, std::to_string(i));
      const SampleType& type = recording.profile->types[i];
      card.types.push_back({std::string(recording.Text(type.type)),
                            std::string(recording.Text(type.unit)),
                            choice ? SumByStack(view, *choice).total : 0, IsBytes(type.role)});
    }
  }
  std::set<std::string> keys;
  for (std::uint32_t set = 0; set < recording.label_set_count(); ++set) {
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      keys.emplace(recording.Text(label.key));
    }
  }
  card.label_keys.assign(keys.begin(), keys.end());
  if (recording.history) {
    const HistoryIndex index(read);
    for (const Trace& trace : recording.history->traces) {
      DeviceCard device{.name = trace.name, .overflowed = trace.overflowed};
      device.summary = index.summary(trace);
      device.at_peak = Coverage(recording, index.replay(trace).LiveAt(device.summary.peak_event));
      card.devices.push_back(std::move(device));
    }
  }
  return card;
}

Rows CardRows(const Recording& recording, const InputCard& card) {
  Rows rows;
  const Metadata& metadata = recording.metadata;
  rows.emplace_back("format",
                    metadata.format_display +
                        (metadata.packing.empty() ? "" : ", packed with " + metadata.packing));
  rows.emplace_back("unpacked", FormatSize(static_cast<std::int64_t>(metadata.unpacked_bytes)));
  if (metadata.time_nanos != 0) {
    rows.emplace_back("taken", TimeText(metadata.time_nanos));
  }
  if (metadata.duration_nanos != 0) {
    rows.emplace_back("duration",
                      fmt::format("{:.3f} s", static_cast<double>(metadata.duration_nanos) / 1e9));
  }
  for (const TypeTotal& type : card.types) {
    rows.emplace_back("sample type",
                      fmt::format("{}/{}: {}", type.type, type.unit,
                                  type.bytes ? FormatSize(type.total) : FormatCount(type.total)));
  }
  if (recording.profile) {
    rows.emplace_back("samples", Count(recording.profile->size()));
  }
  if (recording.history) {
    HistoryRows(recording, card, rows);
  }
  for (const std::string& key : card.label_keys) {
    rows.emplace_back("label", key);
  }
  rows.emplace_back("stacks", Count(recording.stack_count()) + " distinct");
  rows.emplace_back("functions", Count(recording.functions.size()));
  for (const Mapping& mapping : recording.mappings) {
    rows.emplace_back("mapping", std::string(recording.Text(mapping.filename)));
  }
  for (const StringId comment : metadata.comments) {
    rows.emplace_back("comment", std::string(recording.Text(comment)));
  }
  for (const Diagnostic& diagnostic : recording.diagnostics) {
    if (diagnostic.code == "cut") {
      continue;  // said by the comments
    }
    rows.emplace_back("note", fmt::format("{}: {}", diagnostic.count, diagnostic.message));
  }
  for (const BlindSpot& blind : recording.blind_spots) {
    rows.emplace_back("blind to", blind.what + " (" + blind.why + ")");
  }
  return rows;
}

}  // namespace memtool::commands
