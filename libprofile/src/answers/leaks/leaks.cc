#include "memtool/profile/answers/leaks.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "answers/leaks/leaks_findings.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/growth/row_parts.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/at_moment.h"

namespace memtool {

namespace {

template <class Code, std::size_t kCount>
std::string_view WordAt(const std::array<std::string_view, kCount>& words, Code code) {
  return words[static_cast<std::size_t>(code)];
}

// When an input was taken, or, for a history, when the moment shown was; unix ns.
std::int64_t GetTime(const Selection& selection) {
  const Recording& recording = selection.recording();
  std::int64_t time = kNoTime;
  if (recording.history && recording.history->clock == Clock::kUnix) {
    for (const MomentOfTrace& moment : selection.moments()) {
      const Trace& trace = recording.history->traces[moment.trace];
      if (moment.event >= 0) {
        const auto row = trace.first_event + static_cast<std::uint64_t>(moment.event);
        time = std::max(time, recording.history->events[row].time);
      }
    }
  }
  if (time != kNoTime || recording.metadata.time_nanos == 0) {
    return time;
  }
  return recording.metadata.time_nanos;
}

std::optional<Growth> FindUnknown(const GrowthSeries& series) {
  std::vector<std::int64_t> counts;
  for (const GrowthPoint& point : series.points) {
    counts.push_back(point.unknown);
  }
  Growth growth = JudgeGrowth(counts);
  if (growth.kind == GrowthKind::kConstant && growth.last == 0) {
    return std::nullopt;
  }
  return growth;
}

Value ToValue(const Growth& growth) {
  return Value::Object{{"first", growth.first},
                       {"last", growth.last},
                       {"slope", growth.slope},
                       {"kind", CodeValue(ToCode(growth.kind))},
                       {"detail", CodeValue(ToCode(growth.detail))},
                       {"least_step", growth.min_step},
                       {"most_step", growth.max_step},
                       {"bend", growth.acceleration},
                       {"limit", growth.limit}};
}

Value ToValue(const Finding& finding) {
  Value::List rows;
  for (const FoundRow& row : finding.rows) {
    rows.push_back(Value::Object{{"name", row.name},
                                 {"file", row.file},
                                 {"line", LineValue(row.line)},
                                 {"device", CodeValue(row.device)}});
  }
  return Value::Object{{"code", ToCode(finding.code)},
                       {"shape", CodeValue(ToCode(finding.shape))},
                       {"rows", std::move(rows)},
                       {"sum", ToValue(finding.sum)},
                       {"chance", finding.chance},
                       {"doubt", CodeValue(ToCode(finding.doubt))},
                       {"among", finding.among},
                       {"phase", CodeValue(ToCode(finding.phase))},
                       {"step", finding.step > 0 ? Value(finding.step) : Value()}};
}

Value ToValue(const std::optional<Reach>& reach) {
  if (!reach) {
    return {};
  }
  return Value::Object{{"code", ToCode(reach->code)},
                       {"capacity", reach->capacity},
                       {"steps", reach->steps > 0 ? Value(reach->steps) : Value()},
                       {"maybe", reach->maybe},
                       {"device", CodeValue(reach->device)},
                       {"rows_grow", reach->rows_grow}};
}

Value ToValue(const GrowthPoint& point) {
  return Value::Object{{"name", point.name},
                       {"time_us", point.time != kNoTime ? Value(point.time / 1000) : Value()},
                       {"event", point.event >= 0 ? Value(point.event) : Value()},
                       {"total", point.total},
                       {"unknown", point.unknown}};
}

// The first finding says whether anything grows; where there is none, that is the verdict.
Value MakeVerdict(const LeaksAnswer& answer) {
  Value::List codes;
  const auto grows = [](FindingCode code) {
    return code == FindingCode::kOneStep || code == FindingCode::kGrowing ||
           code == FindingCode::kMaybe;
  };
  if (answer.findings.empty() || !grows(answer.findings.front().code)) {
    codes.emplace_back("no_growth");
  }
  for (const Finding& finding : answer.findings) {
    if (finding.code != FindingCode::kConstant) {
      codes.emplace_back(ToCode(finding.code));
    }
  }
  return codes;
}

template <class T>
Value ToList(const std::vector<T>& values) {
  Value::List list;
  for (const T& value : values) {
    list.push_back(ToValue(value));
  }
  return list;
}

}  // namespace

std::string_view ToCode(GrowthKind kind) {
  constexpr std::array<std::string_view, 5> kWords{"constant", "steady", "stepwise", "shrinking",
                                                   "noisy"};
  return WordAt(kWords, kind);
}

std::string_view ToCode(GrowthDetail detail) {
  constexpr std::array<std::string_view, 12> kWords{"",         "even",   "accelerating", "slowing",
                                                    "uneven",   "once",   "stopped",      "late",
                                                    "repeated", "rising", "falling",      "level"};
  return WordAt(kWords, detail);
}

std::string_view ToCode(GrowthEvidence evidence) {
  constexpr std::array<std::string_view, 4> kWords{"", "weak", "strong", "freed"};
  return WordAt(kWords, evidence);
}

std::string_view ToCode(GrowthShape shape) {
  constexpr std::array<std::string_view, 4> kWords{"", "steady", "repeated", "rising"};
  return WordAt(kWords, shape);
}

std::string_view ToCode(FindingCode code) {
  constexpr std::array<std::string_view, 13> kWords{
      "too_short", "one_step",  "growing", "maybe",   "freed",  "given_back", "one_iteration",
      "late",      "last_jump", "jump",    "stopped", "little", "constant"};
  return WordAt(kWords, code);
}

std::string_view ToCode(Doubt doubt) {
  constexpr std::array<std::string_view, 4> kWords{"", "few_rises", "few_points", "chance"};
  return WordAt(kWords, doubt);
}

std::string_view ToCode(Phase phase) {
  constexpr std::array<std::string_view, 3> kWords{"", "backward", "optimizer"};
  return WordAt(kWords, phase);
}

std::string_view ToCode(ReachCode code) {
  constexpr std::array<std::string_view, 6> kWords{"reached",  "not_growing",  "never",
                                                   "at_least", "accelerating", "even"};
  return WordAt(kWords, code);
}

std::string_view ToCode(InputOrder order) {
  constexpr std::array<std::string_view, 3> kWords{"name", "time", "given"};
  return WordAt(kWords, order);
}

std::string_view ToCode(StepMeasure measure) {
  constexpr std::array<std::string_view, 3> kWords{"end", "low", "kept"};
  return WordAt(kWords, measure);
}

std::string_view ToCode(StepsBy steps) {
  constexpr std::array<std::string_view, 4> kWords{"part", "mark", "phase", "loop"};
  return WordAt(kWords, steps);
}

void LeaksMaker::Add(const Selection& selection) {
  head_.Add(selection);
  Input input = MakeInput(selection);
  Tabulator whole(query_.by, space_);
  whole.Add(input);
  query_.by = whole.by();
  saturated_ = saturated_ || whole.saturated();
  std::map<std::string, std::vector<Row>> rows;
  const bool frames = query_.by.kind == By::Kind::kFrame;
  if (query_.sort == SortBy::kCum || (!frames && query_.by.kind != By::Kind::kStack)) {
    rows.emplace("", whole.Rows(query_.sort));
  } else {
    By by = query_.by;
    if (frames && (by.granularity == Granularity::kFunction ||
                   by.granularity == Granularity::kFileFunction)) {
      row_of_line_.merge(RowsOfLines(selection.recording(), by.granularity, space_));
      by.granularity = Granularity::kLine;
    }
    for (const DeviceSums& device :
         SumByDevice(selection.view(), selection.choice(), selection.scale())) {
      input.sums = &device.sums;
      Tabulator of_device(by, space_);
      of_device.Add(input);
      rows.emplace(device.device, of_device.Rows(query_.sort));
    }
  }
  table_.AddDevices({.name = head_.inputs.back().path,
                     .time = GetTime(selection),
                     .total = whole.total(),
                     .unknown = whole.unknown()},
                    std::move(rows));
}

Result<LeaksAnswer> LeaksMaker::Make() && {
  if (table_.size() < 2) {
    return Fail(ErrorCode::kUsage, "growth needs two inputs");
  }
  const bool times = table_.HasTimes();
  if (query_.order == InputOrder::kTime && !times) {
    return Fail(ErrorCode::kUsage,
                "not all inputs say when they were taken, or all say the same time");
  }
  const InputOrder order = query_.order.value_or(times ? InputOrder::kTime : InputOrder::kName);
  LeaksAnswer answer =
      LeaksOfSeries(table_.Finish(order, query_.sort, row_of_line_), std::move(head_), query_);
  answer.order = order;
  answer.saturated = saturated_;
  return answer;
}

Result<LeaksAnswer> Leaks(std::span<const Selection> selections, LeaksQuery query) {
  LeaksMaker maker(std::move(query));
  for (const Selection& selection : selections) {
    maker.Add(selection);
  }
  return std::move(maker).Make();
}

Result<LeaksAnswer> LeaksOfHistory(const HistoryIndex& index, const View& view,
                                   std::string_view name, const LeaksQuery& query) {
  NodeSpace space;
  auto growth = GrowthOfHistory(index, view, query.by, query.steps, space);
  MEMTOOL_TRY(growth);
  AnswerHead head{.question = "leaks", .sample_type = "space", .unit = "bytes"};
  const MomentRange& range = query.steps.range;
  head.Add(index.recording(), name, range.from.text + " to " + range.to.text, &index);
  const std::size_t iterations = growth->series.few_iterations ? growth->iterations : 0;
  LeaksAnswer answer = LeaksOfSeries(std::move(growth->series), std::move(head), query);
  answer.history = {.measure = growth->measure,
                    .mark = std::move(growth->mark),
                    .source = growth->source,
                    .by_time = query.steps.by_time,
                    .devices = growth->devices,
                    .merged = growth->merged,
                    .unfinished = growth->unfinished,
                    .few_iterations = iterations,
                    .of_log = index.recording().metadata.origin.kind == RecordingKind::kLog};
  return answer;
}

LeaksAnswer LeaksOfSeries(GrowthSeries series, AnswerHead head, const LeaksQuery& query) {
  LeaksAnswer answer{.head = std::move(head), .by = query.by, .cum = query.sort == SortBy::kCum};
  answer.findings = CollectFindings(series, answer.cum);
  if (query.capacity && answer.bytes()) {
    answer.reach = ComputeReach(series, *query.capacity);
  }
  answer.unknown = FindUnknown(series);
  for (const GrowthRow& row : series.rows) {
    answer.total = SaturatingAdd(answer.total, row.growth.delta());
  }
  if (!query.all) {
    std::erase_if(series.rows,
                  [](const GrowthRow& row) { return row.growth.kind == GrowthKind::kConstant; });
  }
  answer.points = std::move(series.points);
  answer.rows = std::move(series.rows);
  answer.whole = series.whole;
  return answer;
}

std::vector<NamedValue> MakeFigures(const LeaksAnswer& answer) {
  const std::string_view order = answer.history ? "event" : ToCode(answer.order);
  const std::string_view measure = answer.history ? ToCode(answer.history->measure) : "input";
  return {{"total", answer.total},
          {"total_first", answer.whole.first},
          {"total_last", answer.whole.last},
          {"total_slope", answer.whole.slope},
          {"total_kind", ToCode(answer.whole.kind)},
          {"verdict", MakeVerdict(answer)},
          {"findings", ToList(answer.findings)},
          {"reach", ToValue(answer.reach)},
          {"points", ToList(answer.points)},
          {"order", order},
          {"measure", measure},
          {"step_mark", answer.history ? CodeValue(answer.history->mark) : Value()},
          {"steps_by", answer.history ? Value(ToCode(answer.history->source)) : Value()}};
}

AnswerView MakeView(const LeaksAnswer& answer) {
  return ViewRows(answer.head, MakeFigures(answer), answer.rows, kLeaksFields);
}

}  // namespace memtool
