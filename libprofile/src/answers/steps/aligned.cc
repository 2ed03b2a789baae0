#include "memtool/profile/answers/aligned.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/label_text.h"

namespace memtool {

namespace {

Result<HistorySide> MakeSide(const Selection& selection) {
  const HistoryIndex* index = selection.history();
  const auto fail = [&](ErrorCode code, std::string message, std::string hint) {
    auto failed = Fail(code, std::move(message), std::move(hint));
    failed.value().input = selection.name();
    return failed;
  };
  std::vector<const Trace*> traces;
  for (const MomentOfTrace& moment : selection.moments()) {
    const Trace& trace = index->history().traces[moment.trace];
    const auto events = GetEvents(selection.source(), trace);
    if (std::any_of(events.begin(), events.end(),
                    [](const Event& event) { return event.action == Action::kAlloc; })) {
      traces.push_back(&trace);
    }
  }
  if (traces.empty()) {
    return fail(ErrorCode::kUnsupported, "without allocations there are no steps to compare",
                "two moments can be compared without --align");
  }
  if (traces.size() > 1) {
    return fail(ErrorCode::kUsage, fmt::format("{} devices have a history", traces.size()),
                "choose one with --device");
  }
  return HistorySide{.index = index, .trace = traces.front()};
}

// Rows of both sides at two peaks, joined by name.
class AlignedRows {
 public:
  using Part = std::int64_t AlignedRow::*;

  // Adds what is live on one side; `sign`: -1 for the base.
  template <class Kind>
  Result<void> Add(const Selection& selection, const HistorySide& side, const By& by,
                   std::int64_t event, bool base, Kind kind) {
    auto groups = GroupAllocations(selection.view(), by, space_);
    MEMTOOL_TRY(groups);
    const std::uint64_t first = side.trace->first_event;
    for (const LiveBlock& block : side.index->replay(*side.trace).LiveAt(event)) {
      AlignedRow& row = GetRow(*groups, selection.source(), block);
      const bool known = block.event.has_value() && !block.before_recording;
      const auto of =
          known ? std::optional(static_cast<std::uint32_t>(*block.event - first)) : std::nullopt;
      std::int64_t& whole = base ? row.base : row.now;
      whole = SaturatingAdd(whole, block.size);
      std::int64_t& part = row.*MakePart(kind(of), base);
      part = base ? SaturatingSubtract(part, block.size) : SaturatingAdd(part, block.size);
    }
    return {};
  }

  // Those that differ, the largest first; `unchanged` gets the bytes of the others.
  std::vector<AlignedRow> Take(std::int64_t& unchanged) {
    std::vector<AlignedRow> rows;
    for (auto& [key, row] : rows_) {
      const bool differs = row.delta() != 0 || row.changed != 0 || row.added != 0 ||
                           row.removed != 0 || row.held != 0 || row.before != 0;
      if (differs) {
        rows.push_back(std::move(row));
      } else {
        unchanged = SaturatingAdd(unchanged, row.now);
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const AlignedRow& a, const AlignedRow& b) {
      return Magnitude(a.delta()) > Magnitude(b.delta());
    });
    return rows;
  }

 private:
  static Part MakePart(ChangeKind kind, bool base) {
    switch (kind) {
      case ChangeKind::kChanged:
        return &AlignedRow::changed;
      case ChangeKind::kUnmatched:
        return base ? &AlignedRow::removed : &AlignedRow::added;
      case ChangeKind::kHeld:
        return &AlignedRow::held;
      case ChangeKind::kBefore:
        break;
    }
    return &AlignedRow::before;
  }

  AlignedRow& GetRow(const AllocationGroups& groups, const Recording& recording,
                     const LiveBlock& block) {
    const bool framed = block.stack.valid() && !recording.Stack(block.stack).empty();
    std::uint32_t group = AllocationGroups::kRest;
    if (framed && block.stack.value() < groups.of_stack.size()) {
      group = groups.of_stack[block.stack.value()];
    }
    AlignedRow named;
    if (group != AllocationGroups::kRest) {
      named.name = groups.names[group].name;
      named.file = groups.names[group].file;
      named.line = groups.names[group].line;
    } else {
      named.name = std::string(block.before_recording  ? kBeforeRecording
                               : block.without_address ? kWithoutAddress
                                                       : kNoStack);
    }
    const auto key = std::tuple(named.name, named.file, named.line);
    return rows_.try_emplace(key, std::move(named)).first->second;
  }

  NodeSpace space_;
  std::map<std::tuple<SharedText, SharedText, std::int64_t>, AlignedRow> rows_;
};

std::int64_t ToNumber(const ProgramSteps& steps, std::size_t row) {
  return steps.steps[row].number.value_or(static_cast<std::int64_t>(row) + 1);
}

void AddSteps(const HistoryComparison& compared, AlignedAnswer& answer) {
  answer.base_source = compared.base_steps().source;
  answer.now_source = compared.now_steps().source;
  answer.base_steps = compared.base_steps().steps.size();
  answer.now_steps = compared.now_steps().steps.size();
  for (const PairedStep& pair : compared.pairs()) {
    answer.steps.push_back({.base_step = ToNumber(compared.base_steps(), pair.base),
                            .now_step = ToNumber(compared.now_steps(), pair.now),
                            .pair = pair});
    answer.allocations += 2 * pair.all.matched + pair.all.added + pair.all.removed;
    answer.with_partner += 2 * pair.all.matched;
    answer.unaligned_bytes = SaturatingAdd(
        answer.unaligned_bytes, SaturatingAdd(pair.all.added_bytes, pair.all.removed_bytes));
    if (!answer.shown || pair.peak.now > answer.steps[*answer.shown].pair.peak.now) {
      answer.shown = answer.steps.size() - 1;
    }
  }
}

Value StepsValue(const AlignedAnswer& answer) {
  Value::List list;
  for (const AlignedStep& step : answer.steps) {
    const AllocationChange& all = step.pair.all;
    const PeakChange& peak = step.pair.peak;
    list.emplace_back(
        Value::Object{{"base_step", step.base_step},
                      {"new_step", step.now_step},
                      {"matched", all.matched},
                      {"changed", all.changed},
                      {"added", all.added},
                      {"removed", all.removed},
                      {"changed_bytes", all.changed_bytes},
                      {"added_bytes", all.added_bytes},
                      {"removed_bytes", all.removed_bytes},
                      {"complete", step.pair.complete},
                      {"peak", Value::Object{{"base_event", peak.base_event},
                                             {"new_event", peak.now_event},
                                             {"base", peak.base},
                                             {"new", peak.now},
                                             {"delta", peak.delta()},
                                             {"matched", peak.live.matched},
                                             {"changed", peak.live.changed},
                                             {"added", peak.live.added},
                                             {"removed", peak.live.removed},
                                             {"changed_bytes", peak.live.changed_bytes},
                                             {"added_bytes", peak.live.added_bytes},
                                             {"removed_bytes", peak.live.removed_bytes},
                                             {"held_bytes", peak.held},
                                             {"before_bytes", peak.before}}}});
  }
  return list;
}

Value LadderValue(const AlignedAnswer& answer) {
  Value::List list;
  for (const KeyShare& share : answer.ladder) {
    list.emplace_back(Value::Object{{"key", ToName(share.level)},
                                    {"pairs", share.pairs},
                                    {"of", share.smaller},
                                    {"share", share.share()}});
  }
  return list;
}

}  // namespace

std::string_view ToName(KeyLevel level) {
  switch (level) {
    case KeyLevel::kFrames:
      return "frames";
    case KeyLevel::kInnermost:
      return "innermost";
    case KeyLevel::kOperation:
      return "operation";
    case KeyLevel::kFramesAndLines:
      break;
  }
  return "lines";
}

Result<AlignedAnswer> AlignRuns(const Selection& base, const Selection& now,
                                const AlignedQuery& query) {
  const auto base_side = MakeSide(base);
  MEMTOOL_TRY(base_side);
  const auto now_side = MakeSide(now);
  MEMTOOL_TRY(now_side);
  const HistoryComparison compared(*base_side, *now_side, query.search);
  AlignedAnswer answer{.base_device = base_side->trace->device,
                       .now_device = now_side->trace->device,
                       .ladder = compared.ladder(),
                       .corresponds = compared.corresponds(),
                       .base_peak = base_side->index->summary(*base_side->trace).peak_bytes,
                       .now_peak = now_side->index->summary(*now_side->trace).peak_bytes};
  AddSteps(compared, answer);
  if (!answer.shown) {
    return answer;
  }
  const PairedStep& shown = compared.pairs()[*answer.shown];
  AlignedRows rows;
  MEMTOOL_TRY(rows.Add(base, *base_side, query.by, shown.peak.base_event, true,
                       [&](auto event) { return compared.KindInBase(shown, event); }));
  MEMTOOL_TRY(rows.Add(now, *now_side, query.by, shown.peak.now_event, false,
                       [&](auto event) { return compared.KindInNow(shown, event); }));
  answer.rows = rows.Take(answer.unchanged);
  return answer;
}

AnswerView MakeView(const AlignedAnswer& answer) {
  const bool shown = answer.shown.has_value();
  return ViewRows(answer.head,
                  {{"corresponds", answer.corresponds},
                   {"keys", LadderValue(answer)},
                   {"partner_share", answer.corresponds ? Value(answer.partner_share()) : Value()},
                   {"unaligned_bytes", answer.unaligned_bytes},
                   {"base_from", ToName(answer.base_source)},
                   {"new_from", ToName(answer.now_source)},
                   {"base_steps", answer.base_steps},
                   {"new_steps", answer.now_steps},
                   {"base_peak", answer.base_peak},
                   {"new_peak", answer.now_peak},
                   {"base_step", shown ? Value(answer.steps[*answer.shown].base_step) : Value()},
                   {"new_step", shown ? Value(answer.steps[*answer.shown].now_step) : Value()},
                   {"unchanged", answer.unchanged},
                   {"steps", StepsValue(answer)}},
                  answer.rows, kAlignedFields);
}

}  // namespace memtool
