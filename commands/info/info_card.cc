#include "info/info_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/replay/mark_groups.h"
#include "memtool/profile/replay/moment.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string TakenText(std::int64_t nanos) {
  const auto seconds = static_cast<std::time_t>(nanos / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) {
    return "out of range";
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string CardCount(std::uint64_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string Times(const Repeated& repeated) {
  return repeated.count == 1
             ? repeated.text
             : fmt::format("{} ({} times)", repeated.text, CardCount(repeated.count));
}

using PropertyList = std::vector<std::pair<std::string, std::string>>;

// Of a compiled program.
std::string PlanText(const TraceSummary& s) {
  return fmt::format("the compiler's plan of one run; {} are there from its beginning to its end",
                     FormatTotal(s.start_bytes));
}

std::string RecordingText(const TraceCard& card, const InputCard& input) {
  const TraceSummary& s = card.summary;
  if (input.lacking) {
    return input.lacking->message;
  }
  if (s.events == 0) {
    return "no events: only the state at the end is known";
  }
  std::string text = card.trace.overflowed ? "the ring overflowed: the oldest events are gone"
                     : s.unmatched_frees + s.unopened > 0 || s.start_bytes > 0 ? "began late"
                     : card.trace.agreeing_changes < card.trace.checked_changes
                         ? "from the first allocation on, with holes"
                         : "complete from the first allocation on";
  if (s.unmatched_frees > 0) {
    text += fmt::format("; {} free{} without an allocation ({})", CardCount(s.unmatched_frees),
                        PluralS(s.unmatched_frees), FormatTotal(s.unmatched_bytes));
  }
  if (s.unopened > 0) {
    text += fmt::format("; {} live block{} that no event opened ({})", CardCount(s.unopened),
                        PluralS(s.unopened), FormatTotal(s.unopened_bytes));
  }
  if (s.preexisting_bytes > 0) {
    text +=
        fmt::format("; {} more, of which the file gives the sum", FormatTotal(s.preexisting_bytes));
  }
  if (s.start_bytes > s.base_bytes) {
    text += fmt::format("; the first events list {} from before",
                        FormatSize(SaturatingSubtract(s.start_bytes, s.base_bytes)));
  }
  return text;
}

// The writer's own count of live bytes, beside the events.
std::string CheckText(const Trace& trace) {
  if (trace.agreeing_changes == trace.checked_changes) {
    return fmt::format("complete: all {} changes agree with the allocator's own count",
                       CardCount(trace.checked_changes));
  }
  return fmt::format("HAS HOLES: {} of {} changes disagree with the allocator's own count",
                     CardCount(trace.checked_changes - trace.agreeing_changes),
                     CardCount(trace.checked_changes));
}

std::string AtEvent(std::int64_t event) {
  return event < 0 ? "at the start" : "@" + FormatCount(event);
}

std::string ReplayText(const TraceSummary& s) {
  if (s.has_holes()) {
    return fmt::format(
        "DOES NOT RECONCILE: ends at {} bytes, but the blocks hold {}: the trace has holes",
        FormatCount(s.end_bytes), FormatCount(s.listed_bytes()));
  }
  return s.reconciles()
             ? fmt::format("reconciles: ends at the sum of live{} blocks, {} bytes",
                           s.pending_free_bytes > 0 ? " and pending" : "", FormatCount(s.end_bytes))
             : "unknown: its sums exceed the 64-bit range";
}

// What only an input that lists segments and blocks can say.
void StateRows(const TraceSummary& s, bool only_end, PropertyList& rows) {
  const std::string end = "end " + FormatTotal(s.reserved_end_bytes);
  rows.emplace_back("  reserved",
                    only_end ? end
                             : fmt::format("peak {} {} · {}{}", FormatTotal(s.reserved_peak_bytes),
                                           AtEvent(s.reserved_peak_event), end,
                                           s.segment_events == 0 ? " (no segment events)" : ""));
  rows.emplace_back("  replay", ReplayText(s));
}

void TraceRows(const TraceCard& card, const InputCard& input, PropertyList& rows) {
  const TraceSummary& s = card.summary;
  const bool only_end = s.events == 0 || input.lacking;
  rows.emplace_back(TraceText(card.trace),
                    fmt::format("{} event{}", CardCount(s.events), PluralS(s.events)));
  const std::string end = "end " + FormatTotal(s.end_bytes);
  rows.emplace_back("  live",
                    only_end ? end
                             : fmt::format("peak {} {} · {} · start {}", FormatTotal(s.peak_bytes),
                                           AtEvent(s.peak_event), end, FormatTotal(s.start_bytes)));
  if (input.state && !input.program) {
    StateRows(s, only_end, rows);
  }
  if (card.trace.lifetime_peak && *card.trace.lifetime_peak > s.peak_bytes) {
    rows.emplace_back("  lifetime", fmt::format("peak {}, at another time than this recording",
                                                FormatSize(*card.trace.lifetime_peak)));
  }
  if (input.log) {
    return;  // sums, of which a log says no more
  }
  rows.emplace_back(input.program ? "  program" : "  recording",
                    input.program ? PlanText(s) : RecordingText(card, input));
  if (card.trace.checked_changes > 0) {
    rows.emplace_back("  check", CheckText(card.trace));
  }
  const StackCoverage& c = card.at_peak;
  const double all = static_cast<double>(c.with_stack) + static_cast<double>(c.before_recording) +
                     static_cast<double>(c.without_stack);
  if (all > 0) {
    const auto percent = [all](std::int64_t part) {
      return 100.0 * static_cast<double>(part) / all;
    };
    rows.emplace_back("  stacks",
                      fmt::format("at the {} {:.1f}% of the bytes have one; {:.1f}% "
                                  "were there before the recording, {:.1f}% have no "
                                  "frames",
                                  card.peak_known ? "peak" : "end", percent(c.with_stack),
                                  percent(c.before_recording), percent(c.without_stack)));
  }
  if (!s.ooms.empty()) {
    rows.emplace_back("  OOM", fmt::format("{} recorded, the last at event {}", s.ooms.size(),
                                           CardCount(s.ooms.back())));
  }
}

// Which --at words this history understands.
std::string MomentsText(const HistoryCard& history) {
  if (!history.has_events) {
    return "end";
  }
  std::string text = "start, end, peak, peak:reserved, event:N";
  text += history.has_times ? ", time:S, job-peak" : "";
  text += history.has_ooms ? ", oom" : "";
  const bool steps = std::any_of(history.marks.begin(), history.marks.end(), [](const Mark& mark) {
    return mark.name.starts_with("ProfilerStep#");
  });
  text += steps ? ", step:K" : "";
  return text + (history.marks.empty() ? "" : ", mark:NAME");
}

void HistoryRows(const InputCard& card, PropertyList& rows) {
  for (const TraceCard& trace : card.history->traces) {
    TraceRows(trace, card, rows);
  }
  rows.emplace_back("moments", MomentsText(*card.history));
  if (!card.history->marks.empty()) {
    rows.emplace_back("marks", MarkNames(card.history->marks));
  }
  if (card.state) {
    rows.emplace_back(card.program ? "allocations" : "segments",
                      fmt::format("{} with {} blocks", CardCount(card.state->segments),
                                  CardCount(card.state->blocks)));
  }
  std::string settings;
  for (const Setting& setting : card.settings) {
    // Sixteen lines of rounding steps do not help in a card; JSON has them.
    if (!setting.value.empty() && setting.name.find("roundup") == std::string::npos) {
      settings += (settings.empty() ? "" : " · ") + setting.name + " " + setting.value;
    }
  }
  if (!settings.empty()) {
    rows.emplace_back("settings", settings);
  }
}

// "95.63 GiB ± 5.12 MiB (plan)"
std::string AmountText(const Statement& statement) {
  const bool bytes = statement.what().role != AmountRole::kCount;
  std::string text = std::string(statement.what().title) + ' ' +
                     (bytes ? FormatSize(statement.value) : FormatCount(statement.value));
  if (statement.above > 0) {
    text += statement.below > 0 ? " ± " + FormatSize(statement.above)
                                : fmt::format(" (up to {} more)", FormatSize(statement.above));
  }
  text += statement.kind == StatementKind::kPlan  ? " (estimated)"
          : statement.kind == StatementKind::kSum ? " (a sum)"
                                                  : "";
  return text;
}

// "vLLM EngineCore pid=71 rank 2"
std::string SaidBy(const StatementCard& card) {
  std::string text = card.producer;
  for (const std::string& where : {card.process, card.device, card.stage}) {
    text += where.empty() ? "" : ' ' + where;
  }
  return card.statement.rank >= 0 && card.process.empty()
             ? text + fmt::format(" rank {}", card.statement.rank)
             : text;
}

// What was found, a line of the log each.
void StatementRows(const std::vector<StatementCard>& statements, PropertyList& rows) {
  constexpr std::size_t kMost = 60;
  std::size_t shown = 0;
  for (auto at = statements.begin(); at != statements.end(); ++shown) {
    if (shown == kMost) {
      rows.emplace_back("", "… (--format json has all)");
      return;
    }
    const StatementCard& first = *at;
    const auto end = std::find_if(at, statements.end(), [&first](const StatementCard& other) {
      return other.statement.line != first.statement.line || other.device != first.device ||
             other.stage != first.stage;
    });
    std::string text = SaidBy(first) + ':';
    for (; at != end; ++at) {
      text += (text.ends_with(':') ? " " : ", ") + AmountText(at->statement);
    }
    rows.emplace_back(fmt::format("line {}", CardCount(first.statement.line)), text);
  }
}

void LogRows(const LogCard& log, PropertyList& rows) {
  StatementRows(log.statements, rows);
  for (const LedgerCheck& check : log.checks) {
    rows.emplace_back(fmt::format("check {}", CardCount(check.line)),
                      fmt::format("{}: {} {} = {} ({})", check.holds() ? "holds" : "DOES NOT HOLD",
                                  AmountKinds()[check.amount].title, FormatSize(check.said),
                                  check.formula, FormatSize(check.computed)));
  }
  // What was not understood.
  constexpr std::size_t kUnread = 10;
  for (std::size_t i = 0; i < std::min(kUnread, log.unread.size()); ++i) {
    rows.emplace_back(fmt::format("not read {}", CardCount(log.unread[i].line)),
                      log.unread[i].text);
  }
}

}  // namespace

PropertyList CardRows(const InputCard& card) {
  PropertyList rows;
  rows.emplace_back("format", card.format_display +
                                  (card.packing.empty() ? "" : ", packed with " + card.packing));
  rows.emplace_back("unpacked", FormatSize(static_cast<std::int64_t>(card.unpacked_bytes)));
  if (card.time_nanos != 0) {
    rows.emplace_back("taken", TakenText(card.time_nanos));
  }
  if (card.duration_nanos != 0) {
    rows.emplace_back("duration",
                      fmt::format("{:.3f} s", static_cast<double>(card.duration_nanos) / 1e9));
  }
  for (const SampleTypeTotal& type : card.types) {
    rows.emplace_back("sample type",
                      fmt::format("{}/{}: {}", type.type, type.unit,
                                  type.bytes ? FormatSize(type.total) : FormatCount(type.total)));
  }
  if (card.samples) {
    rows.emplace_back("samples", CardCount(*card.samples));
  }
  if (card.history) {
    HistoryRows(card, rows);
  }
  for (const std::string& key : card.label_keys) {
    rows.emplace_back("label", key);
  }
  if (card.log) {
    LogRows(*card.log, rows);
  }
  rows.emplace_back("stacks", CardCount(card.stacks) + " distinct");
  rows.emplace_back("functions", CardCount(card.functions));
  for (const Repeated& mapping : card.mappings) {
    rows.emplace_back("mapping", Times(mapping));
  }
  for (const Repeated& comment : card.comments) {
    rows.emplace_back("comment", Times(comment));
  }
  for (const Diagnostic& diagnostic : card.diagnostics) {
    const bool told = card.history && card.lacking && card.lacking->code == diagnostic.code;
    if (diagnostic.code == "cut" || told) {
      continue;  // said above
    }
    rows.emplace_back("note", fmt::format("{}: {}", diagnostic.count, diagnostic.message));
  }
  for (const BlindSpot& blind : card.blind_spots) {
    rows.emplace_back("blind to", blind.what + " (" + blind.why + ")");
  }
  return rows;
}

}  // namespace memtool::commands
