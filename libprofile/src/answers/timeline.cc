#include "memtool/profile/answers/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// A clamped total: no figure.
constexpr std::int64_t kUntold = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kRestOfLayers = "(the rest)";

// Traces with events get their summary and range, the others are silent.
Result<void> ChooseTraces(const HistoryIndex& index, const TimelineQuery& query,
                          TimelineAnswer& answer) {
  const auto chosen = GetTraces(index.recording(), query.device);
  MEMTOOL_TRY(chosen);
  for (const std::size_t i : *chosen) {
    const Trace& trace = index.history().traces[i];
    if (trace.event_count == 0) {
      answer.silent.push_back(i);
      continue;
    }
    auto span = ResolveRange(index, trace, query.range);
    MEMTOOL_TRY(span);
    answer.traces.push_back({.trace = i,
                             .device = trace.device,
                             .summary = index.summary(i),
                             .range = {span->first, span->last, query.points, query.by_time,
                                       index.TotalsAfter(i, span->first)}});
  }
  return {};
}

TimelineMaker CreateMaker(const HistoryIndex& index, const TimelineOfTrace& one,
                          const AllocationGroups& groups) {
  return {index.recording(), index.history().traces[one.trace], index.replay(one.trace), groups,
          one.summary.reserved_base_bytes};
}

// The groups whose own highest, over all traces, is highest; ties by name.
std::vector<std::uint32_t> ChooseGroups(const HistoryIndex& index, const TimelineAnswer& answer,
                                        const AllocationGroups& groups, std::size_t top) {
  std::vector<std::int64_t> highest(groups.names.size(), 0);
  for (const TimelineOfTrace& one : answer.traces) {
    const auto own = CreateMaker(index, one, groups).Highest(one.range);
    std::transform(own.begin(), own.end(), highest.begin(), highest.begin(),
                   [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  std::vector<std::uint32_t> order(highest.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto& x = groups.names[a];
    const auto& y = groups.names[b];
    return std::tuple(SaturatingSubtract(0, highest[a]), x.name, x.file, x.line) <
           std::tuple(SaturatingSubtract(0, highest[b]), y.name, y.file, y.line);
  });
  order.resize(std::min(top, order.size()));
  std::erase_if(order, [&highest](std::uint32_t group) { return highest[group] <= 0; });
  return order;
}

void NameLayers(const AllocationGroups& groups, const std::vector<std::uint32_t>& chosen,
                TimelineAnswer& answer) {
  for (const std::uint32_t group : chosen) {
    const AllocationGroups::Name& name = groups.names[group];
    answer.layers.push_back({.key = fmt::format("layer_{}", answer.layers.size() + 1),
                             .name = name.name,
                             .file = name.file,
                             .line = name.line});
  }
  using Kind = TimelineLayer::Kind;
  answer.layers.push_back({.key = "before_recording",
                           .name = std::string(kBeforeRecording),
                           .file = {},
                           .kind = Kind::kBeforeRecording});
  answer.layers.push_back(
      {.key = "rest", .name = std::string(kRestOfLayers), .file = {}, .kind = Kind::kRest});
}

// When each event has happened: events without a time get that of the one before them.
std::vector<std::int64_t> MakeClock(std::span<const Event> events, std::int64_t zero) {
  std::vector<std::int64_t> clock;
  clock.reserve(events.size());
  std::int64_t now = zero;
  for (const Event& event : events) {
    now = event.time == kNoTime ? now : std::max(now, event.time);
    clock.push_back(now);
  }
  return clock;
}

std::int64_t FindZero(const TimelineAnswer& answer) {
  return answer.zero == kNoTime ? 0 : answer.zero;
}

void PlaceMarks(const HistoryIndex& index, const TimelineAnswer& answer, TimelineOfTrace& one) {
  if (one.summary.ooms.empty() && answer.marks.empty()) {
    return;
  }
  const std::int64_t zero = FindZero(answer);
  const Trace& trace = index.history().traces[one.trace];
  const std::vector<std::int64_t> clock = MakeClock(GetEvents(index.recording(), trace), zero);
  const auto add = [&](const std::string& name, bool oom, std::int64_t event, std::int64_t time) {
    if (event >= one.range.first && event <= one.range.last) {
      one.places.push_back({name, oom, event, SaturatingSubtract(time, zero)});
    }
  };
  for (const std::uint64_t event : one.summary.ooms) {
    add({}, true, static_cast<std::int64_t>(event), clock[event]);
  }
  for (const Mark& mark : answer.marks) {
    if (mark.begin != kNoTime && (mark.device < 0 || mark.device == trace.device)) {
      const auto after = std::upper_bound(clock.begin(), clock.end(), mark.begin);
      add(mark.name, false, after - clock.begin() - 1, mark.begin);
    }
  }
  std::stable_sort(one.places.begin(), one.places.end(),
                   [&answer](const TimelinePlace& a, const TimelinePlace& b) {
                     return answer.by_time ? a.since < b.since : a.event < b.event;
                   });
}

void AddOoms(const HistoryIndex& index, const TimelineOfTrace& one, TimelineAnswer& answer) {
  const auto events = GetEvents(index.recording(), index.history().traces[one.trace]);
  for (const std::uint64_t number : one.summary.ooms) {
    const Event& oom = events[number];
    answer.ooms.push_back({static_cast<std::int64_t>(number), oom.time, one.device, oom.size});
  }
}

void AddLoops(const HistoryIndex& index, TimelineAnswer& answer) {
  StackKeys keys;
  const StackFacts facts = FactsOfStacks(index.recording(), keys);
  for (TimelineOfTrace& one : answer.traces) {
    const Trace& trace = index.history().traces[one.trace];
    const TraceAllocations allocations = CollectAllocations(index, trace, facts);
    const ProgramSteps found = FindSteps(index, trace, allocations);
    one.steps = found.steps.size();
    one.steps_from = found.source;
    one.step_mark = found.mark;
    one.loops = FindProgramLoops(index, trace, allocations, found);
    one.keepers = FindForwardKeepers(index, trace, 1);
  }
}

Value Microseconds(std::int64_t nanos) {
  return nanos == kNoTime ? Value() : Value(nanos / 1000);
}

// Layers, out-of-memory events and marks: the details besides the rows.
Value::Object MakeDetails(const TimelineAnswer& answer) {
  Value::List layers;
  for (const TimelineLayer& layer : answer.layers) {
    layers.push_back(Value::Object{{"key", layer.key},
                                   {"name", layer.name},
                                   {"file", layer.file},
                                   {"line", LineValue(layer.line)}});
  }
  Value::List ooms;
  for (const TimelineOom& oom : answer.ooms) {
    ooms.push_back(Value::Object{{"event", oom.event},
                                 {"time_us", Microseconds(oom.time)},
                                 {"device", oom.device},
                                 {"asked", oom.requested_bytes}});
  }
  Value::List marks;
  for (const Mark& mark : answer.marks) {
    marks.push_back(Value::Object{{"name", mark.name},
                                  {"device", mark.device},
                                  {"begin_us", Microseconds(mark.begin)},
                                  {"end_us", Microseconds(mark.end)}});
  }
  return {{"layers", std::move(layers)}, {"ooms", std::move(ooms)}, {"marks", std::move(marks)}};
}

void FillHead(const HistoryIndex& index, const TimelineQuery& query, TimelineAnswer& answer) {
  answer.head.Add(index.recording(), query.name, RangeText(query.range), &index);
  answer.head.sample_type = "space";
  answer.head.unit = "bytes";
  answer.head.inputs[0].details = MakeDetails(answer);
}

}  // namespace

Result<TimelineAnswer> BuildTimeline(const HistoryIndex& index, const Filter& filter,
                                     const TimelineQuery& query) {
  TimelineAnswer answer{.by_time = query.by_time,
                        .of_frames = query.by && query.by->kind == By::Kind::kFrame,
                        .zero = index.first_time(),
                        .marks = index.history().marks};
  MEMTOOL_TRY(ChooseTraces(index, query, answer));
  AllocationGroups groups;
  std::vector<std::uint32_t> chosen;
  if (query.by) {
    const View view(index.recording(), filter);
    auto made = GroupAllocations(view, *query.by);
    MEMTOOL_TRY(made);
    groups = *std::move(made);
    chosen = ChooseGroups(index, answer, groups, query.top);
    NameLayers(groups, chosen, answer);
  }
  std::size_t rows = 0;
  for (TimelineOfTrace& one : answer.traces) {
    one.timeline = CreateMaker(index, one, groups).Make(one.range, chosen, query.by.has_value());
    one.first_row = std::exchange(rows, rows + one.timeline.points.size());
    PlaceMarks(index, answer, one);
    AddOoms(index, one, answer);
  }
  if (query.loops) {
    AddLoops(index, answer);
  }
  FillHead(index, query, answer);
  return answer;
}

std::size_t TimelineAnswer::row_count() const {
  return traces.empty() ? 0 : traces.back().first_row + traces.back().timeline.points.size();
}

TimelineRow TimelineAnswer::Row(std::size_t row) const {
  const auto after = std::upper_bound(
      traces.begin(), traces.end(), row,
      [](std::size_t number, const TimelineOfTrace& one) { return number < one.first_row; });
  const TimelineOfTrace& one = *std::prev(after);
  const TimelinePoint& point = one.timeline.points[row - one.first_row];
  return {.event = point.event,
          .time = point.time,
          .device = one.device,
          .allocated = point.allocated,
          .reserved = one.tells_reserved() ? point.reserved : kUntold,
          .lowest = point.lowest,
          .layers = one.timeline.GetLayers(row - one.first_row)};
}

RowStream<TimelineRow> TimelineAnswer::Rows(std::size_t limit) const {
  return [this, end = limit == 0 ? row_count() : std::min(limit, row_count()),
          next = std::size_t{0}, row = TimelineRow{}]() mutable {
    if (next < end) {
      row = Row(next);
    }
    return next++ < end ? &row : nullptr;
  };
}

namespace {

// `get` of every point, with its trace and its row there.
template <class Get>
std::vector<std::int64_t> GetValues(const TimelineAnswer& answer, Get get) {
  std::vector<std::int64_t> values;
  values.reserve(answer.row_count());
  for (const TimelineOfTrace& one : answer.traces) {
    for (std::size_t row = 0; row < one.timeline.points.size(); ++row) {
      values.push_back(get(one, row));
    }
  }
  return values;
}

std::vector<std::int64_t> LayerValues(const TimelineAnswer& answer, std::size_t layer) {
  return GetValues(answer, [layer](const TimelineOfTrace& one, std::size_t row) {
    return one.timeline.GetLayers(row)[layer];
  });
}

std::vector<std::int64_t> PointValues(const TimelineAnswer& answer,
                                      std::int64_t TimelinePoint::*member) {
  return GetValues(answer, [member](const TimelineOfTrace& one, std::size_t row) {
    return one.timeline.points[row].*member;
  });
}

// Amounts; those that are clamped are missing.
void PutAmounts(std::vector<std::int64_t> amounts, AnswerColumn& column) {
  if (std::any_of(amounts.begin(), amounts.end(), IsClamped)) {
    for (std::int64_t& amount : amounts) {
      const bool unknown = IsClamped(amount);
      column.missing.push_back(unknown ? 1 : 0);
      amount = unknown ? 0 : amount;
    }
  }
  column.data = std::move(amounts);
}

// Microseconds.
void PutTimes(const TimelineAnswer& answer, AnswerColumn& column) {
  std::vector<std::int64_t> times = PointValues(answer, &TimelinePoint::time);
  if (std::find(times.begin(), times.end(), kNoTime) != times.end()) {
    for (const std::int64_t time : times) {
      column.missing.push_back(time == kNoTime ? 1 : 0);
    }
  }
  for (std::int64_t& time : times) {
    time = time == kNoTime ? 0 : time / 1000;
  }
  column.data = std::move(times);
}

// One field of all points.
AnswerColumn BuildColumn(const TimelineAnswer& answer, const FieldInfo& field) {
  AnswerColumn column{
      .key = std::string(field.key), .title = std::string(field.title), .unit = field.unit};
  const auto layer =
      std::find_if(answer.layers.begin(), answer.layers.end(),
                   [&field](const TimelineLayer& one) { return one.key == field.key; });
  if (layer != answer.layers.end()) {
    PutAmounts(LayerValues(answer, static_cast<std::size_t>(layer - answer.layers.begin())),
               column);
  } else if (field.key == "time_us") {
    PutTimes(answer, column);
  } else if (field.key == "device") {
    column.data = GetValues(answer, [](const TimelineOfTrace& one, std::size_t /*row*/) {
      return std::int64_t{one.device};
    });
  } else if (field.key == "event") {
    column.data = PointValues(answer, &TimelinePoint::event);
  } else {
    std::int64_t TimelinePoint::*const amount = field.key == "allocated" ? &TimelinePoint::allocated
                                                : field.key == "lowest"  ? &TimelinePoint::lowest
                                                                         : &TimelinePoint::reserved;
    const bool reserved = amount == &TimelinePoint::reserved;
    PutAmounts(GetValues(answer,
                         [amount, reserved](const TimelineOfTrace& one, std::size_t row) {
                           return reserved && !one.tells_reserved()
                                      ? kUntold
                                      : one.timeline.points[row].*amount;
                         }),
               column);
  }
  return column;
}

}  // namespace

AnswerView MakeView(const TimelineAnswer& answer) {
  AnswerView view{.head = &answer.head, .row_count = answer.row_count()};
  for (const Field<TimelineRow>& field : kTimelineFields) {
    if (field.in_data()) {
      view.fields.push_back(field.Info());
    }
  }
  for (const TimelineLayer& layer : answer.layers) {
    view.fields.push_back({.key = layer.key, .title = layer.name, .unit = Unit::kBytes});
  }
  view.rows = [&answer](std::size_t limit) {
    return RowStream<AnswerView::Values>(
        [next = answer.Rows(limit), values = AnswerView::Values()]() mutable {
          const TimelineRow* row = next();
          if (row == nullptr) {
            return static_cast<AnswerView::Values*>(nullptr);
          }
          values.clear();
          for (const Field<TimelineRow>& field : kTimelineFields) {
            if (field.in_data()) {
              values.push_back(field.Of(*row));
            }
          }
          std::transform(row->layers.begin(), row->layers.end(), std::back_inserter(values),
                         [](std::int64_t bytes) { return Value(Unclamped(bytes)); });
          return &values;
        });
  };
  view.columns = [&answer](std::span<const FieldInfo> wanted) {
    AnswerColumns made{.columns = {}, .rows = answer.row_count()};
    for (const FieldInfo& field : wanted) {
      made.columns.push_back(BuildColumn(answer, field));
    }
    return made;
  };
  return view;
}

std::vector<std::int64_t> GetAxis(const TimelineAnswer& answer, const TimelineOfTrace& trace) {
  std::vector<std::int64_t> axis;
  axis.reserve(trace.timeline.points.size());
  for (const TimelinePoint& point : trace.timeline.points) {
    if (!answer.by_time) {
      axis.push_back(point.event);
      continue;
    }
    const std::int64_t before = axis.empty() ? 0 : axis.back();
    axis.push_back(point.time == kNoTime
                       ? before
                       : std::max(before, SaturatingSubtract(point.time, FindZero(answer))));
  }
  return axis;
}

}  // namespace memtool
