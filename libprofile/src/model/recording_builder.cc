#include "memtool/profile/model/recording_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/model/clamped_sums.h"
#include "model/check_figures.h"
#include "model/check_state.h"

namespace memtool {

namespace {

std::uint64_t HashLabels(std::span<const Label> labels) {
  std::uint64_t hash = HashNumber(labels.size());
  for (const Label& label : labels) {
    hash = HashNumber(hash ^ (std::uint64_t{label.key.value()} << 32U | label.text.value()));
    hash = HashNumber(hash ^ static_cast<std::uint64_t>(label.number));
    hash = HashNumber(hash ^ label.unit.value());
  }
  return hash;
}

Error Inconsistent(std::string message) {
  return Error{.code = ErrorCode::kMalformed, .input = {}, .message = std::move(message)};
}

// Where the first of some rows is that is not below `count`; their number = nowhere. Nearly always
// it is nowhere, so all are looked at without a branch for each.
template <class RowId>
std::size_t FirstBeyond(std::span<const RowId> rows, std::size_t count) {
  // Its highest bit: a difference was negative, or a row of 2^31 and more, of which it would not
  // tell.
  constexpr std::size_t kMostRows = std::size_t{1} << 31U;
  const auto last = static_cast<std::uint32_t>(std::min(count, kMostRows)) - 1;
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20U;
  const auto parts = SplitForThreads(rows.size(), kWorthAThread);
  std::atomic<std::uint32_t> any = 0;
  OnThreads(parts.size(), [&](std::size_t i) {
    std::uint32_t here = 0;
    for (const RowId row : rows.subspan(parts[i].begin, parts[i].end - parts[i].begin)) {
      here |= (last - row.value()) | row.value();
    }
    any |= here;
  });
  if (any >> 31U == 0 && count > 0) {
    return rows.size();
  }
  const auto beyond = [count](RowId row) { return row.value() >= count; };
  return static_cast<std::size_t>(std::find_if(rows.begin(), rows.end(), beyond) - rows.begin());
}

// Every reference between the tables of symbols.
std::optional<Error> CheckSymbols(const Recording& recording) {
  for (const Line& line : recording.lines) {
    if (line.function.valid() && line.function.value() >= recording.functions.size()) {
      return Inconsistent(fmt::format("a line refers to function row {}, which does not exist",
                                      line.function.value()));
    }
  }
  for (const Location& location : recording.locations) {
    if (location.mapping.valid() && location.mapping.value() >= recording.mappings.size()) {
      return Inconsistent(fmt::format("a location refers to mapping row {}, which does not exist",
                                      location.mapping.value()));
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckProfile(const Recording& recording, const Profile& profile) {
  const std::size_t samples = profile.size();
  const bool even = profile.label_sets.size() == samples &&
                    profile.values.size() == profile.types.size() &&
                    std::all_of(profile.values.begin(), profile.values.end(),
                                [samples](const auto& column) { return column.size() == samples; });
  if (!even) {
    return Inconsistent("sample columns differ in length");
  }
  const std::span<const StackId> stacks = profile.stacks;
  const std::span<const LabelSetId> sets = profile.label_sets;
  const std::size_t beyond = std::min(FirstBeyond(stacks, recording.stack_count()),
                                      FirstBeyond(sets, recording.label_set_count()));
  if (beyond != samples) {
    return Inconsistent(
        fmt::format("sample {} refers to a stack or label set out of range", beyond));
  }
  if (!std::is_sorted(profile.unknown_size.begin(), profile.unknown_size.end()) ||
      (!profile.unknown_size.empty() && profile.unknown_size.back() >= samples)) {
    return Inconsistent("the list of samples of unknown size is out of order or range");
  }
  if (!profile.sums.empty() &&
      (profile.sums.size() != profile.types.size() ||
       std::any_of(profile.sums.begin(), profile.sums.end(), [&recording](const TypeSums& sums) {
         return !sums.of_stack.empty() && sums.of_stack.size() != recording.stack_count();
       }))) {
    return Inconsistent("sums of samples are not of all types and stacks");
  }
  return std::nullopt;
}

// Events, segments and blocks may have no stack.
bool GoodStack(const Recording& recording, StackId stack) {
  return !stack.valid() || stack.value() < recording.stack_count();
}

std::optional<Error> CheckBreakdowns(const Recording& recording, const History& history) {
  for (const Breakdown& breakdown : history.breakdowns) {
    if (breakdown.part_count == 0 || breakdown.first_part > history.parts.size() ||
        breakdown.part_count > history.parts.size() - breakdown.first_part) {
      return Inconsistent("a breakdown refers to parts out of range");
    }
    std::int64_t sum = 0;
    for (const BreakdownPart& part :
         std::span(history.parts).subspan(breakdown.first_part, breakdown.part_count)) {
      if (part.bytes < 0 || !GoodStack(recording, part.stack) ||
          part.labels.value() >= recording.label_set_count()) {
        return Inconsistent("a part refers to a stack or labels out of range, or is negative");
      }
      sum = SaturatingAdd(sum, part.bytes);
    }
    if (sum != breakdown.size) {
      return Inconsistent("the parts of an allocation do not add up to it");
    }
  }
  return std::nullopt;
}

// An event is of one trace.
bool ShareEvents(const History& history) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;  // first → count
  for (const Trace& trace : history.traces) {
    if (trace.event_count > 0) {
      runs.emplace_back(trace.first_event, trace.event_count);
    }
  }
  std::sort(runs.begin(), runs.end());
  const auto share = [](const auto& a, const auto& b) { return b.first - a.first < a.second; };
  return std::adjacent_find(runs.begin(), runs.end(), share) != runs.end();
}

std::optional<Error> CheckTraces(const History& history) {
  const std::size_t domains = history.domains.size();
  for (const Trace& trace : history.traces) {
    if (trace.first_event > history.events.size() ||
        trace.event_count > history.events.size() - trace.first_event ||
        trace.blocks.value() >= domains || trace.segments.value() >= domains) {
      return Inconsistent("a trace refers to events or ledgers out of range");
    }
    if (trace.preexisting_bytes < 0 || trace.preexisting_reserved < 0 ||
        trace.listed_before > trace.event_count) {
      return Inconsistent("what was there before a trace is negative, or more than its events");
    }
    if (trace.agreeing_changes > trace.checked_changes) {
      return Inconsistent("more changes of a trace agree than were compared");
    }
  }
  if (ShareEvents(history)) {
    return Inconsistent("traces share events");
  }
  return std::nullopt;
}

// Also notes which actions there are: all events are looked at once.
std::optional<Error> CheckEvents(const Recording& recording, History& history) {
  const std::size_t domains = history.domains.size();
  std::uint32_t actions = 0;
  for (const Event& event : history.events) {
    actions |= std::uint32_t{1} << static_cast<unsigned>(event.action);
    if (event.domain >= domains || event.stream >= history.streams.size() ||
        (event.size < 0 && event.action != Action::kAdjust) || !GoodStack(recording, event.stack)) {
      return Inconsistent("an event refers to a ledger, stream or stack out of range");
    }
  }
  history.actions = actions;
  if (!history.labels.empty() && history.labels.size() != history.events.size()) {
    return Inconsistent("event columns differ in length");
  }
  for (const LabelSetId set : history.labels) {
    if (set.value() >= recording.label_set_count()) {
      return Inconsistent("an event refers to a label set out of range");
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckHistory(const Recording& recording, History& history) {
  const std::size_t domains = history.domains.size();
  for (const MemoryDomain& domain : history.domains) {
    if (domain.parent.valid() && domain.parent.value() >= domains) {
      return Inconsistent("a ledger refers to a parent out of range");
    }
  }
  for (const AddressRange& range : history.mapped) {
    if (range.event >= history.events.size() || range.size < 0) {
      return Inconsistent("a mapped range refers to an event out of range, or is negative");
    }
  }
  if (auto error = CheckTraces(history)) {
    return error;
  }
  if (auto error = CheckEvents(recording, history)) {
    return error;
  }
  return CheckBreakdowns(recording, history);
}

std::optional<Error> CheckStateReferences(const Recording& recording, const AllocatorState& state) {
  const std::size_t streams = recording.history ? recording.history->streams.size() : 1;
  for (const Segment& segment : state.segments) {
    if (segment.stream >= streams) {
      return Inconsistent("a segment refers to a stream out of range");
    }
    if (segment.first_block > state.blocks.size() ||
        segment.block_count > state.blocks.size() - segment.first_block ||
        !GoodStack(recording, segment.stack)) {
      return Inconsistent("a segment refers to blocks or a stack out of range");
    }
  }
  for (const Block& block : state.blocks) {
    if (!GoodStack(recording, block.stack)) {
      return Inconsistent("a block refers to a stack out of range");
    }
  }
  return std::nullopt;
}

}  // namespace

RecordingBuilder::RecordingBuilder(Recording recording) : recording_(std::move(recording)) {
  if (recording_.profile) {
    recording_.profile->sums.clear();  // of samples that may change now
  }
  for (std::uint32_t i = 1; i < recording_.label_set_count(); ++i) {
    const LabelSetId id(i);
    label_index_.GetOrPut(HashLabels(recording_.Labels(id)), i,
                          [](std::uint32_t) { return false; });
  }
}

void RecordingBuilder::AddDiagnostic(Diagnostic diagnostic) {
  recording_.diagnostics.push_back(std::move(diagnostic));
}

void RecordingBuilder::AddDiagnostic(Severity severity, std::string code, std::string message,
                                     std::uint64_t count) {
  if (count > 0) {
    AddDiagnostic({.severity = severity,
                   .code = std::move(code),
                   .message = std::move(message),
                   .count = count});
  }
}

void RecordingBuilder::AddBlindSpot(std::string what, std::string why) {
  recording_.blind_spots.push_back({std::move(what), std::move(why)});
}

void RecordingBuilder::AddSetting(std::string name, std::string value) {
  recording_.settings.push_back({std::move(name), std::move(value)});
}

MappingId RecordingBuilder::AddMapping(const Mapping& mapping) {
  recording_.mappings.push_back(mapping);
  return MappingId(recording_.mappings.size() - 1);
}

FunctionId RecordingBuilder::AddFunction(const Function& function) {
  recording_.functions.push_back(function);
  return FunctionId(recording_.functions.size() - 1);
}

LocationId RecordingBuilder::AddLocation(Location location, std::span<const Line> lines) {
  location.first_line = static_cast<std::uint32_t>(recording_.lines.size());
  if (lines.empty()) {
    recording_.lines.emplace_back();
  } else {
    recording_.lines.insert(recording_.lines.end(), lines.begin(), lines.end());
  }
  location.line_count = static_cast<std::uint32_t>(recording_.lines.size()) - location.first_line;
  recording_.locations.push_back(location);
  return LocationId(recording_.locations.size() - 1);
}

void RecordingBuilder::ReserveLocations(std::size_t locations, std::size_t lines) {
  recording_.locations.reserve(locations);
  recording_.lines.reserve(lines);
}

StackId RecordingBuilder::AddStack(std::span<const LocationId> locations) {
  return recording_.stacks.Add(locations);
}

LabelSetId RecordingBuilder::InternLabels(std::span<const Label> labels) {
  if (labels.empty()) {
    return LabelSetId(std::uint32_t{0});
  }
  const auto fresh = static_cast<std::uint32_t>(recording_.label_set_count());
  const std::uint32_t row =
      label_index_.GetOrPut(HashLabels(labels), fresh, [&](std::uint32_t known) {
        const auto with = recording_.Labels(LabelSetId(known));
        return std::equal(with.begin(), with.end(), labels.begin(), labels.end());
      });
  return row == fresh ? recording_.label_sets.Add(labels) : LabelSetId(row);
}

void RecordingBuilder::StartProfile(std::vector<SampleType> types, StringId default_type) {
  recording_.profile.emplace();
  recording_.profile->values.resize(types.size());
  recording_.profile->types = std::move(types);
  recording_.profile->default_type = default_type;
}

void RecordingBuilder::SetSamples(RowVector<StackId> stacks, RowVector<LabelSetId> label_sets,
                                  std::vector<RowVector<std::int64_t>> values) {
  recording_.profile->stacks = std::move(stacks);
  recording_.profile->label_sets = std::move(label_sets);
  recording_.profile->values = std::move(values);
}

void RecordingBuilder::AddSample(StackId stack, LabelSetId labels,
                                 std::span<const std::int64_t> values) {
  recording_.profile->stacks.push_back(stack);
  recording_.profile->label_sets.push_back(labels);
  // A wrong number of values leaves uneven columns, which Finish() refuses.
  const std::size_t types = std::min(values.size(), recording_.profile->values.size());
  for (std::size_t type = 0; type < types; ++type) {
    recording_.profile->values[type].push_back(values[type]);
  }
}

void RecordingBuilder::SetUnknownSizes(std::vector<std::uint32_t> samples) {
  recording_.profile->unknown_size = std::move(samples);
}

namespace {

std::optional<Error> CheckStatements(const Recording& recording) {
  for (const Statement& statement : recording.statements) {
    if (statement.amount >= AmountKinds().size()) {
      return Inconsistent(
          fmt::format("a statement is about amount {}, which does not exist", statement.amount));
    }
    for (const StringId id :
         {statement.producer, statement.process, statement.device, statement.stage}) {
      if (id.valid() && id.value() >= recording.strings.size()) {
        return Inconsistent(
            fmt::format("a statement refers to string row {}, which does not exist", id.value()));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

// Of a recording that is gone on with, history and state were checked when it was made.
std::optional<Error> RecordingBuilder::CheckReferences() const {
  const std::span<const LocationId> in_stacks = recording_.stacks.items();
  if (const auto at = FirstBeyond(in_stacks, recording_.locations.size()); at != in_stacks.size()) {
    return Inconsistent(fmt::format("a stack refers to location row {}, which does not exist",
                                    in_stacks[at].value()));
  }
  auto error = CheckSymbols(recording_);
  if (!error && recording_.profile) {
    error = CheckProfile(recording_, *recording_.profile);
  }
  if (!error && history_) {
    error = CheckHistory(recording_, *history_);
  }
  if (!error && state_) {
    error = CheckStateReferences(recording_, *state_);
  }
  return error ? error : CheckStatements(recording_);
}

// Once the references are sound.
std::optional<Error> RecordingBuilder::CheckFigures() {
  std::vector<Diagnostic>& diagnostics = recording_.diagnostics;
  if (history_) {
    CheckLedgers(*history_, diagnostics);
  }
  CheckCounters(recording_.counters, diagnostics);
  if (recording_.profile && amounts_) {
    CheckRequested(*recording_.profile, diagnostics);
  }
  return state_ ? CheckState(*state_, segment_offsets_, diagnostics) : std::nullopt;
}

Result<Recording> RecordingBuilder::Finish() && {
  constexpr std::size_t kMaxRows = std::numeric_limits<std::uint32_t>::max() - 1;
  for (const std::size_t rows : {recording_.strings.size(), recording_.lines.size(),
                                 recording_.locations.size(), recording_.stacks.items().size(),
                                 recording_.stack_count(), recording_.label_sets.items().size()}) {
    if (rows > kMaxRows) {
      return Fail(ErrorCode::kLimit, "more than 4,294,967,294 rows in one table");
    }
  }
  if (auto error = CheckReferences()) {
    return Fail(*std::move(error));
  }
  if (auto error = CheckFigures()) {
    return Fail(*std::move(error));
  }
  if ((history_ || state_) && !HistorySumsFit(recording_)) {
    NoteClampedSums(recording_.diagnostics);
  }
  return std::move(recording_);
}

Role GetRole(std::string_view type, std::string_view unit) {
  if (unit == "bytes" || unit == "byte" || unit == "B" || unit == "b") {
    return type.starts_with("requested") ? Role::kRequestedBytes : Role::kBytes;
  }
  if (unit == "kilobytes" || unit == "kB" || unit == "KiB") {
    return Role::kOther;  // scaled units would break sums across types
  }
  return unit == "count" ? Role::kCount : Role::kOther;
}

}  // namespace memtool
