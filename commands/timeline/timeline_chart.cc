#include "timeline/timeline_chart.h"

#include <algorithm>

#include "rows/rows.h"

namespace memtool::commands {

namespace {

BarSegment::Style GetStyle(TimelineLayer::Kind kind) {
  switch (kind) {
    case TimelineLayer::Kind::kBeforeRecording:
      return BarSegment::Style::kUntrackable;
    case TimelineLayer::Kind::kRest:
      return BarSegment::Style::kOthers;
    case TimelineLayer::Kind::kNamed:
      break;
  }
  return BarSegment::Style::kNamed;
}

// True when a layer holds nothing anywhere: a picture needs no key for it.
bool IsEmpty(const TimelineAnswer& answer, std::size_t layer) {
  const auto holds = [layer](const TimelineOfTrace& one) {
    for (std::size_t i = 0; i < one.timeline.points.size(); ++i) {
      if (one.timeline.GetLayers(i)[layer] != 0) {
        return true;
      }
    }
    return false;
  };
  return std::none_of(answer.traces.begin(), answer.traces.end(), holds);
}

// The layers that are drawn, bottom first: what only shrinks goes below, so that the others rest on
// an even base.
std::vector<std::size_t> LayersToDraw(const TimelineAnswer& answer) {
  std::vector<std::size_t> order;
  for (std::size_t layer = 0; layer < answer.layers.size(); ++layer) {
    if (!IsEmpty(answer, layer)) {
      order.push_back(layer);
    }
  }
  std::stable_partition(order.begin(), order.end(), [&answer](std::size_t layer) {
    return answer.layers[layer].kind == TimelineLayer::Kind::kBeforeRecording;
  });
  return order;
}

AreaPanel MakePanel(const TimelineAnswer& answer, const TimelineOfTrace& one,
                    const std::vector<std::size_t>& order) {
  const Timeline& timeline = one.timeline;
  AreaPanel panel{.x = GetAxis(answer, one)};
  panel.x_end = answer.by_time ? panel.x.back() : one.range.last;
  for (const TimelinePlace& place : one.places) {
    panel.marks.push_back({.name = place.oom ? "OOM" : place.name,
                           .x = answer.by_time ? place.since : place.event,
                           .oom = place.oom});
  }
  if (answer.layers.empty()) {
    panel.layers = {{.name = "live"}};
  }
  for (const TimelinePoint& point : timeline.points) {
    if (one.tells_reserved()) {
      panel.reserved.push_back(point.reserved);
    }
    if (answer.layers.empty()) {
      panel.layers[0].bytes.push_back(point.allocated);
    }
  }
  for (const std::size_t layer : order) {
    const TimelineLayer& made = answer.layers[layer];
    panel.layers.push_back({.name = LayerText(answer, made), .style = GetStyle(made.kind)});
    for (std::size_t i = 0; i < timeline.points.size(); ++i) {
      panel.layers.back().bytes.push_back(timeline.GetLayers(i)[layer]);
    }
  }
  return panel;
}

}  // namespace

std::string LayerText(const TimelineAnswer& answer, const TimelineLayer& layer) {
  const bool frame = answer.of_frames && layer.kind == TimelineLayer::Kind::kNamed;
  const std::string place = PlaceText(layer.file, layer.line);
  return (frame ? NameText(layer.name) : layer.name.str()) + (place.empty() ? "" : " " + place);
}

AreaChart MakeChart(const TimelineAnswer& answer) {
  AreaChart chart{.axis =
                      answer.by_time ? AreaChart::Axis::kNanoseconds : AreaChart::Axis::kEvents};
  const std::vector<std::size_t> order = LayersToDraw(answer);
  for (const TimelineOfTrace& one : answer.traces) {
    chart.panels.push_back(MakePanel(answer, one, order));
  }
  return chart;
}

}  // namespace memtool::commands
