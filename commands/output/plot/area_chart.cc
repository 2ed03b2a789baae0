// Stacked areas over events or time, with the reserved bytes as a line above and vertical lines for
// out-of-memory events and marks. Values hold until the next point: steps, no slopes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "output/escape.h"
#include "output/plot/charts.h"

namespace memtool::commands {

namespace {

constexpr double kAreaHeadroom = 22;  // above a plot: heading, unit, names of marks
constexpr double kAreaGap = 8;
constexpr double kAreaSwatch = 7;
constexpr double kSameSpot = 0.3;
constexpr Stroke kReservedLine{.width = 0.9, .color = kInk, .dash = 2.5};
constexpr Stroke kOomLine{.width = 0.9, .color = kAlarm, .dash = 0};
constexpr Stroke kMarkLine{.width = 0.4, .color = kGrey, .dash = 1};

using Style = BarSegment::Style;

std::vector<Paint> MakePaints(const AreaPanel& panel) {
  const auto named = static_cast<std::size_t>(
      std::count_if(panel.layers.begin(), panel.layers.end(),
                    [](const AreaLayer& layer) { return layer.style == Style::kNamed; }));
  std::vector<Paint> paints;
  std::size_t next = 0;
  for (const AreaLayer& layer : panel.layers) {
    paints.push_back(layer.style == Style::kNamed    ? GetFill(next++, named)
                     : layer.style == Style::kOthers ? FillOfOthers()
                                                     : FillOfUntrackable());
  }
  return paints;
}

class AreaPanelDrawing {
 public:
  AreaPanelDrawing(const AreaChart& chart, const AreaPanel& panel, const SizeAxis& axis,
                   const Rect& plot, Canvas& canvas)
      : chart_(chart), panel_(panel), axis_(axis), plot_(plot), canvas_(canvas) {}

  void Draw() {
    DrawSizeAxis(axis_, plot_, canvas_);
    DrawTicks();
    if (!panel_.x.empty()) {
      DrawLayers();
      if (!panel_.reserved.empty()) {
        canvas_.Lines(Steps(Reserved()), kReservedLine);
      }
    }
    DrawMarks();
    canvas_.Lines(
        {{plot_.x, plot_.y + plot_.height}, {plot_.x + plot_.width, plot_.y + plot_.height}},
        {.width = 0.7});
  }

 private:
  [[nodiscard]] double X(std::int64_t x) const {
    const auto first = static_cast<double>(panel_.x.empty() ? 0 : panel_.x.front());
    const double span = std::max(1.0, static_cast<double>(panel_.x_end) - first);
    return plot_.x + plot_.width * std::clamp((static_cast<double>(x) - first) / span, 0.0, 1.0);
  }
  [[nodiscard]] double Y(double bytes) const {
    return plot_.y + plot_.height * (1 - std::max(0.0, bytes) / axis_.top());
  }

  [[nodiscard]] std::vector<double> Reserved() const {
    return {panel_.reserved.begin(), panel_.reserved.end()};
  }

  // The outline of values that hold until the next x.
  [[nodiscard]] std::vector<Point> Steps(const std::vector<double>& values) const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double end = X(i + 1 < values.size() ? panel_.x[i + 1] : panel_.x_end);
      points.push_back({X(panel_.x[i]), Y(values[i])});
      points.push_back({end, Y(values[i])});
    }
    return points;
  }

  void DrawLayers() {
    const std::vector<Paint> paints = MakePaints(panel_);
    std::vector<double> below(panel_.x.size(), 0);
    for (std::size_t layer = 0; layer < panel_.layers.size(); ++layer) {
      std::vector<double> above = below;
      for (std::size_t i = 0; i < above.size(); ++i) {
        above[i] += static_cast<double>(std::max<std::int64_t>(0, panel_.layers[layer].bytes[i]));
      }
      std::vector<Point> outline = Steps(above);
      const std::vector<Point> floor = Steps(below);
      if (above != below) {
        const std::vector<Point> top = outline;
        outline.insert(outline.end(), floor.rbegin(), floor.rend());
        canvas_.Fill(outline, paints[layer]);
        canvas_.Lines(top, {.width = 0.3});
      }
      below = std::move(above);
    }
  }

  void DrawTicks() {
    const std::int64_t first = panel_.x.empty() ? 0 : panel_.x.front();
    const auto ticks = MakeTicks(chart_.axis, first, panel_.x_end,
                                 std::max(2, static_cast<int>(plot_.width / 55)));
    TextStyle style = kSmall;
    style.align = Align::kCenter;
    const double bottom = plot_.y + plot_.height;
    for (const AxisTick& tick : ticks) {
      const double x = X(tick.at);
      canvas_.Lines({{x, bottom}, {x, bottom + 2.5}}, {.width = 0.5});
      const double half = canvas_.Width(tick.label, style) / 2;
      canvas_.Text({std::min(x, plot_.x + plot_.width - half + 2), bottom + 9}, tick.label, style);
    }
  }

  // Vertical lines with names above them as long as there is room, out-of-memory events first.
  // Files may hold millions of marks: those at the same position are drawn once.
  void DrawMarks() {
    std::map<double, double> taken;  // left → right
    for (const bool oom : {true, false}) {
      double last = -1;
      for (const AreaMark& mark : panel_.marks) {
        const double x = X(mark.x);
        if (mark.oom == oom && x >= last + kSameSpot) {
          canvas_.Lines({{x, plot_.y - 3}, {x, plot_.y + plot_.height}},
                        oom ? kOomLine : kMarkLine);
          NameMark(mark, taken);
          last = x;
        }
      }
    }
  }

  void NameMark(const AreaMark& mark, std::map<double, double>& taken) {
    const TextStyle style{.size = 6, .bold = mark.oom, .color = mark.oom ? kAlarm : kGrey};
    const std::string name = canvas_.Elide(EscapeText(mark.name), plot_.width / 4, style);
    const double width = canvas_.Width(name, style);
    const double left = std::min(X(mark.x) + 1, plot_.x + plot_.width - width);
    const auto after = taken.lower_bound(left);
    const bool fits = (after == taken.end() || left + width + 3 <= after->first) &&
                      (after == taken.begin() || std::prev(after)->second <= left);
    if (fits) {
      canvas_.Text({left, plot_.y - 4.5}, name, style);
      taken[left] = left + width + 3;
    }
  }

  const AreaChart& chart_;
  const AreaPanel& panel_;
  const SizeAxis& axis_;
  Rect plot_;
  Canvas& canvas_;
};

// What the fills and lines mean, in lines of as many as fit. Returns the y below.
class Key {
 public:
  Key(double y, double width, Canvas& canvas) : y_(y), width_(width), canvas_(canvas) {}

  template <class Sample>
  void Add(std::string_view name, Sample sample) {
    const std::string text = canvas_.Elide(name, width_ - 2 * kMargin - kAreaSwatch - 6, kBody);
    const double needs = kAreaSwatch + 3 + canvas_.Width(text, kBody);
    if (x_ + needs > width_ - kMargin && x_ > kMargin) {
      x_ = kMargin;
      y_ += kLineHeight + 1;
    }
    sample(Rect{x_, y_ - kAreaSwatch + 1, kAreaSwatch, kAreaSwatch});
    canvas_.Text({x_ + kAreaSwatch + 3, y_}, text, kBody);
    x_ += needs + 9;
  }
  [[nodiscard]] double below() const { return y_ + 4; }

 private:
  double x_ = kMargin;
  double y_;
  double width_;
  Canvas& canvas_;
};

double DrawKey(const AreaChart& chart, double y, double width, Canvas& canvas) {
  Key key(y + kLineHeight, width, canvas);
  const AreaPanel& panel = chart.panels.front();
  const std::vector<Paint> paints = MakePaints(panel);
  for (std::size_t i = 0; i < panel.layers.size(); ++i) {
    key.Add(EscapeText(panel.layers[i].name), [&](const Rect& box) {
      canvas.Fill(box, paints[i]);
      canvas.Outline(box, {.width = 0.4});
    });
  }
  const auto middle = [&canvas](const Stroke& stroke) {
    return [&canvas, &stroke](const Rect& box) {
      const double at = box.y + box.height / 2;
      canvas.Lines({{box.x, at}, {box.x + box.width, at}}, stroke);
    };
  };
  if (!panel.reserved.empty()) {
    key.Add("reserved", middle(kReservedLine));
  }
  return key.below();
}

}  // namespace

double Draw(const AreaChart& chart, double width, Canvas& canvas) {
  double y = DrawTitle(chart.title, chart.subtitle, width, canvas);
  const std::vector<SizeAxis> axes = GetAxes(chart, chart.panels.size() > 2 ? 3 : 5);
  double axis_width = 0;
  for (const SizeAxis& axis : axes) {
    axis_width = std::max(axis_width, SizeAxisWidth(axis, canvas));
  }
  const double inner = width - 2 * kMargin;
  // Wide and low, as series want to be read; lower where there are many.
  const double height =
      std::clamp(0.34 * inner, 80.0, 180.0) * (chart.panels.size() > 2 ? 0.6 : 1.0);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const AreaPanel& panel = chart.panels[i];
    if (!panel.title.empty()) {
      y = DrawWrapped(panel.title, {kMargin, y, inner, 0}, kHeading, canvas);
    }
    const Rect plot{kMargin + axis_width, y + kAreaHeadroom - 6, inner - axis_width - 2, height};
    AreaPanelDrawing(chart, panel, axes[i], plot, canvas).Draw();
    y = plot.y + plot.height + 11 + kAreaGap;
  }
  if (!chart.panels.empty()) {
    TextStyle style = kSmall;
    style.align = Align::kRight;
    canvas.Text({width - kMargin, y - kAreaGap + 5},
                chart.axis == AreaChart::Axis::kEvents ? "event" : "time since the first event",
                style);
    if (ScalesDiffer(axes)) {
      canvas.Text({kMargin, y - kAreaGap + 5}, "each device has its own scale", kSmall);
    }
    y = DrawKey(chart, y + 2, width, canvas);
  }
  return y + kMargin;
}

}  // namespace memtool::commands
