#include "timeline/timeline_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/view.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

// One trace, replayed once, for ranking and for the series.
struct Replayed {
  std::size_t trace = 0;
  const Replay* replay = nullptr;
  TimelineRange range;
};

Result<std::vector<Replayed>> ReplayTraces(const HistoryIndex& index, const SeriesOptions& options,
                                           Series& series) {
  const auto chosen = TracesOf(index.recording(), options.device);
  MEMTOOL_TRY(chosen);
  std::vector<Replayed> replayed;
  const auto& traces = index.history().traces;
  for (const std::size_t i : *chosen) {
    if (traces[i].event_count == 0) {
      series.silent.push_back(i);
      continue;
    }
    auto span = ResolveRange(index, traces[i], options.range);
    MEMTOOL_TRY(span);
    replayed.push_back(
        {i, &index.replay(i), {span->first, span->last, options.points, options.by_time}});
  }
  return replayed;
}

// The groups whose own highest, over all traces, is highest; ties by name.
std::vector<std::uint32_t> Choose(const std::vector<std::int64_t>& highest,
                                  const AllocationGroups& groups, std::size_t top) {
  std::vector<std::uint32_t> order(highest.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto& x = groups.names[a];
    const auto& y = groups.names[b];
    return std::tuple(-highest[a], x.name, x.file, x.line) <
           std::tuple(-highest[b], y.name, y.file, y.line);
  });
  order.resize(std::min(top, order.size()));
  std::erase_if(order, [&highest](std::uint32_t group) { return highest[group] <= 0; });
  return order;
}

void NameLayers(const AllocationGroups& groups, const std::vector<std::uint32_t>& chosen,
                bool frames, Series& series) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const AllocationGroups::Name& group = groups.names[chosen[i]];
    std::string name = frames ? NameText(group.name) : group.name;
    const std::string place = PlaceText(group.file, group.line);
    name += place.empty() ? "" : " " + place;
    series.layers.push_back({fmt::format("layer_{}", i + 1), std::move(name), group});
  }
  using Style = BarSegment::Style;
  const std::string before(kBeforeRecording);
  series.layers.push_back({"before_recording", before, {.name = before}, Style::kUntrackable});
  series.layers.push_back({"rest", "(the rest)", {.name = "(the rest)"}, Style::kOthers});
}

std::int64_t FirstTime(const Recording& recording) {
  std::int64_t first = INT64_MAX;
  for (const Event& event : recording.history->events) {
    first = event.time == kNoTime ? first : std::min(first, event.time);
  }
  return first == INT64_MAX ? 0 : first;
}

// Where points stand on the x axis; never backwards, whatever the file's clock does.
std::vector<std::int64_t> PlacesOf(const Timeline& timeline, bool by_time, std::int64_t zero) {
  std::vector<std::int64_t> x;
  for (const TimelinePoint& point : timeline.points) {
    if (!by_time) {
      x.push_back(point.event);
      continue;
    }
    const std::int64_t before = x.empty() ? 0 : x.back();
    x.push_back(point.time == kNoTime ? before
                                      : std::max(before, SaturatingSubtract(point.time, zero)));
  }
  return x;
}

// When each event has happened: events without a time stand at the one before them.
std::vector<std::int64_t> ClockOf(std::span<const Event> events, std::int64_t zero) {
  std::vector<std::int64_t> clock;
  clock.reserve(events.size());
  std::int64_t now = zero;
  for (const Event& event : events) {
    now = event.time == kNoTime ? now : std::max(now, event.time);
    clock.push_back(now);
  }
  return clock;
}

// True when a layer holds nothing anywhere: a picture needs no key for it.
bool IsEmpty(const Series& series, std::size_t layer) {
  return std::all_of(series.traces.begin(), series.traces.end(), [layer](const TraceSeries& one) {
    for (std::size_t i = 0; i < one.timeline.points.size(); ++i) {
      if (one.timeline.LayersOf(i)[layer] != 0) {
        return false;
      }
    }
    return true;
  });
}

}  // namespace

Result<Series> MakeSeries(const HistoryIndex& index, const Filter& filter,
                          const SeriesOptions& options) {
  const Recording& recording = index.recording();
  Series series;
  auto replayed = ReplayTraces(index, options, series);
  MEMTOOL_TRY(replayed);
  AllocationGroups groups;
  std::vector<std::uint32_t> chosen;
  const auto& traces = recording.history->traces;
  if (options.by) {
    const View view(recording, filter);
    auto made = GroupAllocations(view, *options.by);
    MEMTOOL_TRY(made);
    groups = *std::move(made);
    std::vector<std::int64_t> highest(groups.names.size(), 0);
    for (const Replayed& one : *replayed) {
      const TimelineMaker maker(recording, traces[one.trace], *one.replay, groups);
      const auto own = maker.Highest(one.range);
      std::transform(own.begin(), own.end(), highest.begin(), highest.begin(),
                     [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    }
    chosen = Choose(highest, groups, options.top);
    NameLayers(groups, chosen, options.by->kind == By::Kind::kFrame, series);
  }
  for (const Replayed& one : *replayed) {
    const TimelineMaker maker(recording, traces[one.trace], *one.replay, groups);
    series.traces.push_back({one.trace, one.replay->Summarize(), one.range,
                             maker.Make(one.range, chosen, options.by.has_value())});
  }
  return series;
}

std::vector<AreaMark> MarksOf(const Recording& recording, const TraceSeries& series, bool by_time) {
  const Trace& trace = recording.history->traces[series.trace];
  const auto events = EventsOf(recording, trace);
  const std::int64_t zero = FirstTime(recording);
  std::vector<AreaMark> marks;
  if (series.summary.ooms.empty() && recording.history->marks.empty()) {
    return marks;
  }
  const std::vector<std::int64_t> clock = ClockOf(events, zero);
  const auto add = [&](const std::string& name, std::int64_t event, std::int64_t time, bool oom) {
    if (event >= series.range.first && event <= series.range.last) {
      marks.push_back({name, by_time ? SaturatingSubtract(time, zero) : event, oom});
    }
  };
  for (const std::uint64_t event : series.summary.ooms) {
    add("OOM", static_cast<std::int64_t>(event), clock[event], true);
  }
  for (const Mark& mark : recording.history->marks) {
    if (mark.begin != kNoTime && (mark.device < 0 || mark.device == trace.device)) {
      const auto after = std::upper_bound(clock.begin(), clock.end(), mark.begin);
      add(mark.name, after - clock.begin() - 1, mark.begin, false);
    }
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const AreaMark& a, const AreaMark& b) { return a.x < b.x; });
  return marks;
}

AreaChart MakeChart(const Recording& recording, const Series& series, bool by_time) {
  AreaChart chart{.axis = by_time ? AreaChart::Axis::kNanoseconds : AreaChart::Axis::kEvents};
  const std::int64_t zero = FirstTime(recording);
  // What only shrinks stands at the bottom, so that the others stand on even ground.
  std::vector<std::size_t> order(series.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&series](std::size_t layer) {
    return series.layers[layer].style == BarSegment::Style::kUntrackable;
  });
  std::erase_if(order, [&series](std::size_t layer) { return IsEmpty(series, layer); });
  for (const TraceSeries& one : series.traces) {
    const Timeline& timeline = one.timeline;
    AreaPanel panel{.x = PlacesOf(timeline, by_time, zero),
                    .marks = MarksOf(recording, one, by_time)};
    if (series.traces.size() > 1) {
      panel.title = TraceText(recording.history->traces[one.trace]);
    }
    panel.x_end = by_time ? panel.x.back() : one.range.last;
    if (series.layers.empty()) {
      panel.layers = {{.name = "live"}};
    }
    for (const TimelinePoint& point : timeline.points) {
      panel.reserved.push_back(point.reserved);
      if (series.layers.empty()) {
        panel.layers[0].bytes.push_back(point.allocated);
      }
    }
    for (const std::size_t layer : order) {
      const SeriesLayer& made = series.layers[layer];
      panel.layers.push_back({.name = made.name, .style = made.style});
      for (std::size_t i = 0; i < timeline.points.size(); ++i) {
        panel.layers.back().bytes.push_back(timeline.LayersOf(i)[layer]);
      }
    }
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

}  // namespace memtool::commands
