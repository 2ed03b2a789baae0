#include "memtool/profile/answers/info.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/value_choice.h"

namespace memtool {

namespace {

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

std::vector<SampleTypeTotal> ComputeTotals(const Recording& recording) {
  std::vector<SampleTypeTotal> totals;
  totals.reserve(recording.profile->types.size());
  for (const SampleType& type : recording.profile->types) {
    SampleTypeTotal total{.type = std::string(recording.Text(type.type)),
                          .unit = std::string(recording.Text(type.unit)),
                          .bytes = IsBytes(type.role)};
    ForEachSample(
        *recording.profile, {.type = totals.size(), .role = type.role},
        [&total](const SampleValue& sample) { AddTo(total.total, sample.value, total.saturated); });
    totals.push_back(std::move(total));
  }
  return totals;
}

std::vector<std::string> GetLabelKeys(const Recording& recording) {
  std::set<std::string> keys;
  for (std::uint32_t set = 0; set < recording.label_set_count(); ++set) {
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      keys.emplace(recording.Text(label.key));
    }
  }
  return {keys.begin(), keys.end()};
}

HistoryCard BuildHistory(const HistoryIndex& index) {
  const Recording& recording = index.recording();
  const History& history = index.history();
  HistoryCard card{.traces = {},
                   .domains = history.domains,
                   .marks = history.marks,
                   .has_events = !history.events.empty()};
  const bool whole = ExtentOf(recording) == Extent::kWhole;
  for (const Trace& trace : history.traces) {
    TraceCard& of_trace = card.traces.emplace_back();
    of_trace.trace = trace;
    of_trace.summary = index.summary(trace);
    of_trace.peak_known = whole && of_trace.summary.events > 0;
    of_trace.at_peak = Coverage(recording, index.replay(trace).LiveAt(of_trace.summary.peak_event));
  }
  card.has_times = std::any_of(history.events.begin(), history.events.end(),
                               [](const Event& event) { return event.time != kNoTime; });
  card.has_ooms = history.Has(Action::kOom);
  return card;
}

// A list of one object, or of one text, for each.
template <class T, class ValueOfOne>
Value ToList(const std::vector<T>& items, ValueOfOne value_of) {
  Value::List list;
  for (const T& item : items) {
    list.push_back(value_of(item));
  }
  return list;
}

Value TimeValue(std::int64_t nanos) {
  return nanos == kNoTime ? Value() : Value(nanos);
}

Value ToValue(const Mark& mark) {
  return Value::Object{{"name", mark.name},
                       {"device", mark.device},
                       {"begin_ns", TimeValue(mark.begin)},
                       {"end_ns", TimeValue(mark.end)}};
}

Value OrNull(const std::optional<std::int64_t>& figure) {
  return figure ? Value(*figure) : Value();
}

Value Known(std::int64_t total) {
  return OrNull(Unclamped(total));
}

// The figures of a domain are those of the trace whose blocks or segments it counts.
Value ToValue(const MemoryDomain& domain, std::uint32_t row, const std::vector<TraceCard>& traces) {
  Value peak;
  Value end;
  for (const TraceCard& card : traces) {
    if (card.trace.blocks == DomainId(row)) {
      peak = card.peak_known ? Known(card.summary.peak_bytes) : Value();
      end = Known(card.summary.end_bytes);
    } else if (card.trace.segments == DomainId(row)) {
      peak = card.peak_known ? Known(card.summary.reserved_peak_bytes) : Value();
      end = Known(card.summary.reserved_end_bytes);
    }
  }
  constexpr std::array<std::string_view, 6> kKinds{"device", "managed", "pinned",
                                                   "host",   "vmm",     "cpu"};
  constexpr std::array<std::string_view, 3> kLevels{"driver", "allocator", "user"};
  return Value::Object{{"name", domain.name},
                       {"device", domain.device},
                       {"kind", kKinds[static_cast<std::size_t>(domain.kind)]},
                       {"level", kLevels[static_cast<std::size_t>(domain.level)]},
                       {"parent", domain.parent.valid() ? Value(domain.parent.value()) : Value()},
                       {"capacity", OrNull(domain.capacity)},
                       {"peak_bytes", std::move(peak)},
                       {"end_bytes", std::move(end)}};
}

Value ListDomains(const HistoryCard& history) {
  Value::List list;
  for (const MemoryDomain& domain : history.domains) {
    list.push_back(ToValue(domain, static_cast<std::uint32_t>(list.size()), history.traces));
  }
  return list;
}

Value ToValue(const TraceCard& card) {
  const TraceSummary& s = card.summary;
  return Value::Object{
      {"device", s.device},
      {"name", card.trace.name},
      {"events", s.events},
      {"base_bytes", Known(s.base_bytes)},
      {"start_bytes", Known(s.start_bytes)},
      {"standing_bytes", Known(s.preexisting_bytes)},
      {"peak_bytes", card.peak_known ? Known(s.peak_bytes) : Value()},
      {"peak_event", card.peak_known ? Value(s.peak_event) : Value()},
      {"end_bytes", Known(s.end_bytes)},
      {"live_block_bytes", Known(s.live_block_bytes)},
      {"pending_free_bytes", Known(s.pending_free_bytes)},
      {"reconciles", s.reconciles()},
      {"reserved_base_bytes", Known(s.reserved_base_bytes)},
      {"reserved_peak_bytes", card.peak_known ? Known(s.reserved_peak_bytes) : Value()},
      {"reserved_peak_event", card.peak_known ? Value(s.reserved_peak_event) : Value()},
      {"reserved_end_bytes", Known(s.reserved_end_bytes)},
      {"unmatched_frees", s.unmatched_frees},
      {"unmatched_bytes", Known(s.unmatched_bytes)},
      {"ghosts", s.unopened},
      {"ghost_bytes", Known(s.unopened_bytes)},
      {"double_allocs", s.double_allocs},
      {"size_changes", s.size_changes},
      {"overflowed", card.trace.overflowed},
      {"checked_changes", card.trace.checked_changes},
      {"agreeing_changes", card.trace.agreeing_changes},
      {"lifetime_peak_bytes", OrNull(card.trace.lifetime_peak)},
      {"oom_events", Value::List(s.ooms.begin(), s.ooms.end())},
      {"peak_stacks",
       Value::Object{{"with_stack_bytes", Known(card.at_peak.with_stack)},
                     {"before_recording_bytes", Known(card.at_peak.before_recording)},
                     {"without_stack_bytes", Known(card.at_peak.without_stack)}}}};
}

Value ToValue(const SampleTypeTotal& total) {
  return Value::Object{{"type", total.type}, {"unit", total.unit}, {"total", total.total}};
}

Value ToValue(const BlindSpot& blind) {
  return Value::Object{{"what", blind.what}, {"why", blind.why}};
}

Value ToValue(const std::vector<Setting>& settings) {
  Value::Object object;
  for (const Setting& setting : settings) {
    object.emplace_back(setting.name, setting.value);
  }
  return object;
}

// The texts of `items`, each once, in the order of the first of each.
template <class Items, class Text>
std::vector<Repeated> Distinct(const Recording& recording, const Items& items, const Text& text) {
  std::vector<Repeated> distinct;
  KeyMap<std::uint32_t, std::size_t> row_of;
  for (const auto& item : items) {
    const StringId id = text(item);
    const auto [row, fresh] = row_of.try_emplace(id.value(), distinct.size());
    if (fresh) {
      distinct.push_back({.text = std::string(recording.Text(id))});
    } else {
      ++distinct[row->second].count;
    }
  }
  return distinct;
}

LogCard BuildLog(const Recording& recording) {
  LogCard card{
      .statements = {}, .checks = CheckLedger(recording), .unread = recording.unread_lines};
  card.statements.reserve(recording.statements.size());
  for (const Statement& statement : recording.statements) {
    card.statements.push_back({.statement = statement,
                               .producer = std::string(recording.Text(statement.producer)),
                               .process = std::string(recording.Text(statement.process)),
                               .device = std::string(recording.Text(statement.device)),
                               .stage = std::string(recording.Text(statement.stage))});
  }
  return card;
}

Value TextOrNull(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

// Rounding makes no amount less than nothing.
std::int64_t LowOf(const Statement& statement) {
  const std::int64_t low = SaturatingSubtract(statement.value, statement.below);
  return statement.value >= 0 ? std::max<std::int64_t>(low, 0) : low;
}

Value ToValue(const StatementCard& card) {
  const Statement& statement = card.statement;
  return Value::Object{{"line", statement.line},
                       {"time_ns", TimeValue(statement.time)},
                       {"producer", card.producer},
                       {"quantity", statement.what().name},
                       {"value", statement.value},
                       {"low", LowOf(statement)},
                       {"high", SaturatingAdd(statement.value, statement.above)},
                       {"process", TextOrNull(card.process)},
                       {"rank", statement.rank < 0 ? Value() : Value(statement.rank)},
                       {"device", TextOrNull(card.device)},
                       {"stage", TextOrNull(card.stage)},
                       {"plan", statement.kind == StatementKind::kPlan},
                       {"sum", statement.kind == StatementKind::kSum}};
}

Value ToValue(const LedgerCheck& check) {
  return Value::Object{{"line", check.line},
                       {"producer", check.producer},
                       {"quantity", AmountKinds()[check.amount].name},
                       {"formula", check.formula},
                       {"said", check.said},
                       {"computed", check.computed},
                       {"precision", check.precision},
                       {"holds", check.holds()}};
}

Value ToValue(const UnreadLine& line) {
  return Value::Object{{"line", line.line}, {"text", line.text}};
}

}  // namespace

InputCard MakeCard(const std::shared_ptr<const Recording>& read, const HistoryIndex* index) {
  const Recording& recording = *read;
  const Metadata& metadata = recording.metadata;
  InputCard card{.format_display = metadata.format_display,
                 .program = metadata.origin.kind == RecordingKind::kProgram,
                 .answers = QuestionsFor(recording),
                 .packing = metadata.packing,
                 .unpacked_bytes = metadata.unpacked_bytes,
                 .time_nanos = metadata.time_nanos,
                 .duration_nanos = metadata.duration_nanos};
  if (recording.profile) {
    card.types = ComputeTotals(recording);
    card.samples = recording.profile->size();
  }
  card.stacks = recording.stack_count();
  card.functions = recording.functions.size();
  card.label_keys = GetLabelKeys(recording);
  card.default_by = metadata.default_by;
  card.mappings = Distinct(recording, recording.mappings,
                           [](const Mapping& mapping) { return mapping.filename; });
  card.comments = Distinct(recording, metadata.comments, [](StringId comment) { return comment; });
  card.blind_spots = recording.blind_spots;
  card.settings = recording.settings;
  std::optional<const HistoryIndex> own;
  if (index == nullptr && recording.history) {
    index = &own.emplace(read);
  }
  card.diagnostics = recording.diagnostics;
  card.lacking = NoteLacking(recording);
  if (card.lacking) {
    card.diagnostics.push_back(*card.lacking);
  }
  if (index != nullptr) {
    if (auto holes = NoteHoles(*index)) {
      card.diagnostics.push_back(*std::move(holes));
    }
    card.history = BuildHistory(*index);
  }
  if (metadata.origin.kind == RecordingKind::kLog) {
    card.log = BuildLog(recording);
  }
  if (recording.state) {
    card.state = {.segments = recording.state->segments.size(),
                  .blocks = recording.state->blocks.size()};
  }
  return card;
}

Value::Object MakeValueObject(const InputCard& card) {
  const HistoryCard none;
  const HistoryCard& history = card.history ? *card.history : none;
  const auto value_of = [](const auto& item) { return ToValue(item); };
  Value::Object object{{"format_display", card.format_display},
                       {"answers", Value::List(card.answers.begin(), card.answers.end())},
                       {"packing", card.packing},
                       {"unpacked_bytes", card.unpacked_bytes},
                       {"time_nanos", card.time_nanos},
                       {"sample_types", ToList(card.types, value_of)},
                       {"samples", card.samples.value_or(0)},
                       {"stacks", card.stacks},
                       {"functions", card.functions},
                       {"labels", Value::List(card.label_keys.begin(), card.label_keys.end())},
                       {"blind_spots", ToList(card.blind_spots, value_of)},
                       {"settings", ToValue(card.settings)},
                       {"marks", ToList(history.marks, value_of)},
                       {"ledgers", ListDomains(history)},
                       {"devices", ToList(history.traces, value_of)}};
  if (!card.default_by.empty()) {
    object.emplace_back("default_by", card.default_by);
  }
  if (card.log) {
    object.emplace_back("statements", ToList(card.log->statements, value_of));
    object.emplace_back("checks", ToList(card.log->checks, value_of));
    object.emplace_back("unread_lines", ToList(card.log->unread, value_of));
  }
  return object;
}

void InfoMaker::Add(const std::shared_ptr<const Recording>& recording, std::string_view name,
                    const HistoryIndex* index) {
  std::optional<const HistoryIndex> own;
  if (index == nullptr && recording->history) {
    index = &own.emplace(recording);
  }
  answer_.head.Add(*recording, name, "end", index);
  answer_.cards.push_back(MakeCard(recording, index));
  answer_.head.inputs.back().details = MakeValueObject(answer_.cards.back());
}

AnswerView MakeView(const InfoAnswer& answer) {
  AnswerView view;
  view.head = &answer.head;
  return view;
}

InfoAnswer Info(const std::shared_ptr<const Recording>& recording, std::string_view name) {
  InfoMaker maker;
  maker.Add(recording, name);
  return std::move(maker).Make();
}

}  // namespace memtool
