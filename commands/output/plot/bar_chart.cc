// Stacked bars. A panel with one bar names each segment next to it, with a leader line; a panel
// with several has percentages inside where they fit and a key that lists all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/plot/charts.h"

namespace memtool::commands {

namespace {

constexpr double kHeadroom = 24;   // above a plot: heading, unit, totals
constexpr double kNarrowBar = 20;  // of a panel that has one bar
constexpr double kWideBar = 40;
constexpr double kLeader = 22;  // from a bar to its labels
constexpr double kShortLeader = 14;
constexpr double kRoomyLabels = 120;  // label columns this wide hold a label in one line
constexpr double kGap = 8;            // between panels
constexpr double kSwatch = 7;

using Style = BarSegment::Style;

struct Category {
  std::string name;
  Style style = Style::kNamed;
  Paint paint;
};

// Names in the order in which they appear in the bars; Others and Untrackable last.
std::vector<Category> MakeCategories(const BarPanel& panel) {
  std::vector<Category> all;
  for (const Style style : {Style::kNamed, Style::kOthers, Style::kUntrackable}) {
    for (const StackedBar& bar : panel.bars) {
      for (const BarSegment& segment : bar.segments) {
        const bool known = std::any_of(all.begin(), all.end(), [&](const Category& category) {
          return category.style == segment.style && category.name == segment.name;
        });
        if (segment.style == style && !known) {
          all.push_back({segment.name, style, {}});
        }
      }
    }
  }
  const auto named = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Category& c) { return c.style == Style::kNamed; }));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].paint = i < named                        ? GetFill(i, named)
                   : all[i].style == Style::kOthers ? FillOfOthers()
                                                    : FillOfUntrackable();
  }
  return all;
}

const Paint& GetPaint(const std::vector<Category>& categories, const BarSegment& segment) {
  return std::find_if(categories.begin(), categories.end(),
                      [&segment](const Category& c) {
                        return c.style == segment.style && c.name == segment.name;
                      })
      ->paint;
}

// What is drawn.
std::int64_t ComputeSum(const StackedBar& bar) {
  std::int64_t sum = 0;
  for (const BarSegment& segment : bar.segments) {
    sum = SaturatingAdd(sum, std::max<std::int64_t>(segment.bytes, 0));
  }
  return sum;
}

std::string PercentText(const StackedBar& bar, std::int64_t bytes) {
  const std::int64_t base = bar.percent_base != 0 ? bar.percent_base : ComputeSum(bar);
  return base <= 0
             ? ""
             : fmt::format("{:.1f}%", 100 * static_cast<double>(bytes) / static_cast<double>(base));
}

// In the axis's unit, unless nothing would be left of it.
std::string SizeText(std::int64_t bytes, const SizeAxis& axis) {
  std::string text = FormatSize(bytes, axis.unit);
  return bytes != 0 && text.starts_with("0.00 ") ? FormatSize(bytes) : text;
}

bool HasNames(const BarPanel& panel) {
  return std::any_of(panel.bars.begin(), panel.bars.end(),
                     [](const StackedBar& bar) { return !bar.name.empty(); });
}

class BarPanelDrawing {
 public:
  BarPanelDrawing(const BarPanel& panel, const SizeAxis& axis, double width, Canvas& canvas)
      : panel_(panel),
        axis_(axis),
        width_(width),
        canvas_(canvas),
        categories_(MakeCategories(panel)),
        axis_width_(SizeAxisWidth(axis, canvas)) {
    for (const Category& category : categories_) {
      key_width_ =
          std::max(key_width_, canvas.Width(Shorten(EscapeText(category.name), 60), kBody));
    }
    // The key takes what its names need, the bars keep at least half.
    bar_width_ = std::clamp(0.18 * width, kNarrowBar, kWideBar);
    key_width_ = std::min(key_width_ + kSwatch + 4, (width - axis_width_) * 0.45);
  }

  static double NarrowestFor(const BarPanel& panel) {
    return panel.bars.size() == 1 ? 108 : 110 + 24 * static_cast<double>(panel.bars.size());
  }

  [[nodiscard]] double PlotHeight() const {
    const double pleasant = std::clamp(0.42 * width_ + 64, 110.0, 200.0);
    const double line = single() ? LabelHeight() : kLineHeight;
    return std::max(pleasant, line * static_cast<double>(categories_.size() + 1));
  }

  // Whether the bars' names fit below them in type of this size.
  [[nodiscard]] bool NamesFit(double size) const {
    const double room = PlotWidth() / static_cast<double>(panel_.bars.size()) - 3;
    return single() ||
           std::all_of(panel_.bars.begin(), panel_.bars.end(), [&](const StackedBar& bar) {
             const std::string name = Shorten(EscapeText(bar.name), 400);
             return canvas_.Width(name, {.size = size}) <= room;
           });
  }

  // Returns the y below the panel. `names`: the size of the bars' names; 0 = numbers.
  double Draw(const Point& corner, double plot_height, double names) {
    plot_ = {corner.x + axis_width_, corner.y + kHeadroom, PlotWidth(), plot_height};
    canvas_.Text({corner.x, corner.y + 7},
                 canvas_.Elide(EscapeText(panel_.title), width_, kHeading), kHeading);
    DrawSizeAxis(axis_, plot_, canvas_);
    const double slot =
        plot_.width / static_cast<double>(std::max<std::size_t>(1, panel_.bars.size()));
    for (std::size_t i = 0; i < panel_.bars.size(); ++i) {
      const double bar_width = single() ? bar_width_ : std::min(slot * 0.74, 40.0);
      DrawBar(panel_.bars[i], plot_.x + slot * (static_cast<double>(i) + 0.5), bar_width, slot);
    }
    canvas_.Lines({{plot_.x, Bottom()}, {plot_.x + plot_.width, Bottom()}}, {.width = 0.7});
    if (single()) {
      DrawLabels(panel_.bars[0]);
    } else {
      DrawKey();
    }
    return DrawNotes(DrawNames(slot, corner.x, names), corner.x, names);
  }

 private:
  [[nodiscard]] bool single() const { return panel_.bars.size() == 1; }
  [[nodiscard]] double PlotWidth() const {
    return single() ? bar_width_ + 6 : width_ - axis_width_ - key_width_ - 8;
  }
  [[nodiscard]] double LabelRoom(double leader) const {
    return width_ - axis_width_ - bar_width_ - 3 - leader;
  }
  [[nodiscard]] bool roomy() const { return LabelRoom(kLeader) >= kRoomyLabels; }
  [[nodiscard]] double LabelHeight() const { return roomy() ? 10.5 : 18; }
  [[nodiscard]] double Bottom() const { return plot_.y + plot_.height; }
  [[nodiscard]] double Y(double bytes) const {
    return Bottom() - plot_.height * bytes / axis_.top();
  }

  void DrawBar(const StackedBar& bar, double centre, double width, double slot) {
    double below = 0;
    for (const BarSegment& segment : bar.segments) {
      if (segment.bytes <= 0) {
        continue;
      }
      const double above = below + static_cast<double>(segment.bytes);
      const Rect box{centre - width / 2, Y(above), width, Y(below) - Y(above)};
      const Paint& paint = GetPaint(categories_, segment);
      canvas_.Fill(box, paint);
      canvas_.Outline(box, {.width = box.height < 1.5 ? 0.2 : 0.5});
      if (!single()) {
        DrawPercent(PercentText(bar, segment.bytes), box, paint);
      }
      below = above;
    }
    TextStyle total{.size = 6.5, .bold = true, .align = Align::kCenter};
    std::string text = SizeText(ComputeSum(bar), axis_);
    if (single() ? !roomy() : canvas_.Width(text, total) > slot - 2) {
      text = text.substr(0, text.find(' '));  // the unit stands at the axis
      total.size = 6;
    }
    canvas_.Text({centre, Y(below) - 2.5}, text, total);
  }

  // Inside, on a plain background where there is a pattern; omitted where it would not fit.
  void DrawPercent(const std::string& text, const Rect& box, const Paint& paint) {
    const bool dark = Lightness(paint.color) < 0.48;
    const TextStyle style{.size = 6, .color = dark ? kPaper : kInk, .align = Align::kCenter};
    const double text_width = canvas_.Width(text, style);
    if (box.height < 7.5 || text_width > box.width - 2) {
      return;
    }
    const Point middle{box.x + box.width / 2, box.y + box.height / 2};
    if (paint.hatch != Hatch::kNone) {
      canvas_.Fill(Rect{middle.x - text_width / 2 - 1, middle.y - 3.4, text_width + 2, 6.8},
                   Paint{.color = paint.color});
    }
    canvas_.Text({middle.x, middle.y + 2.2}, text, style);
  }

  void DrawLabels(const StackedBar& bar) {
    std::vector<const BarSegment*> shown;
    std::vector<double> wanted;  // from the top: y grows downwards
    double below = 0;
    for (const BarSegment& segment : bar.segments) {
      if (segment.bytes < 0 || (segment.bytes == 0 && segment.style != Style::kNamed)) {
        continue;
      }
      shown.push_back(&segment);
      wanted.push_back(Y(below + static_cast<double>(segment.bytes) / 2));
      below += static_cast<double>(segment.bytes);
    }
    std::reverse(shown.begin(), shown.end());
    std::reverse(wanted.begin(), wanted.end());
    const double half = LabelHeight() / 2;
    const auto placed = Spread(wanted, LabelHeight(), plot_.y + half - 6, Bottom() - half + 2);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      DrawLabel(bar, *shown[i], wanted[i], placed[i]);
    }
  }

  void DrawLabel(const StackedBar& bar, const BarSegment& segment, double at, double y) {
    const double right_of_bar = plot_.x + plot_.width / 2 + bar_width_ / 2;
    const double leader = roomy() ? kLeader : kShortLeader;
    const double x = right_of_bar + leader;
    const double centre = roomy() ? y : y - 4;
    canvas_.Lines(
        {{right_of_bar + 1, at}, {right_of_bar + 5, at}, {x - 6, centre}, {x - 2, centre}},
        {.width = 0.4, .color = kGrey});
    const std::string size = SizeText(segment.bytes, axis_);
    const std::string percent = PercentText(bar, segment.bytes);
    const std::string name = EscapeText(segment.name);
    const double room = LabelRoom(leader);
    if (!roomy()) {
      canvas_.Text({x, centre + 2.4}, canvas_.Elide(name, room, kBody), kBody);
      canvas_.Text({x, centre + 10.4}, canvas_.Elide(size + "  " + percent, room, kSmall), kSmall);
      return;
    }
    constexpr double kSizeColumn = 42;
    constexpr double kPercentColumn = 28;
    const double name_width = std::min(key_width_ + 4, room - kSizeColumn - kPercentColumn);
    canvas_.Text({x, centre + 2.4}, canvas_.Elide(name, name_width, kBody), kBody);
    TextStyle number = kSmall;
    number.align = Align::kRight;
    canvas_.Text({x + name_width + kSizeColumn, centre + 2.4}, size, number);
    number.color = kInk;
    canvas_.Text({x + name_width + kSizeColumn + kPercentColumn, centre + 2.4}, percent, number);
  }

  // In the order of the stack, the topmost first.
  void DrawKey() {
    const double x = plot_.x + plot_.width + 8;
    double y = plot_.y;
    for (std::size_t i = categories_.size(); i-- > 0;) {
      const Category& category = categories_[i];
      const Rect swatch{x, y - kSwatch / 2, kSwatch, kSwatch};
      canvas_.Fill(swatch, category.paint);
      canvas_.Outline(swatch, {.width = 0.4});
      canvas_.Text({x + kSwatch + 3, y + 2.4},
                   canvas_.Elide(EscapeText(category.name), key_width_ - kSwatch - 3, kBody),
                   kBody);
      y += kLineHeight + 1;
    }
  }

  // Returns the y below the names.
  double DrawNames(double slot, double left, double size) {
    if (!HasNames(panel_)) {
      return Bottom() + 3;
    }
    const double y = Bottom() + kLineHeight;
    if (single()) {
      const std::string name = EscapeText(panel_.bars[0].name);
      canvas_.Text({left, y}, canvas_.Elide(name, width_, kSmall), kSmall);
      return y + 3;
    }
    const TextStyle style{.size = size == 0 ? 7 : size, .align = Align::kCenter};
    for (std::size_t i = 0; i < panel_.bars.size(); ++i) {
      canvas_.Text({plot_.x + slot * (static_cast<double>(i) + 0.5), y},
                   size == 0 ? std::to_string(i + 1) : EscapeText(panel_.bars[i].name), style);
    }
    return y + 3;
  }

  double DrawNotes(double y, double left, double names) {
    for (std::size_t i = 0; i < panel_.bars.size(); ++i) {
      for (const BarSegment& segment : panel_.bars[i].segments) {
        if (segment.bytes >= 0) {
          continue;
        }
        y += kLineHeight;
        const std::string bar = names == 0 ? std::to_string(i + 1) : panel_.bars[i].name;
        const std::string of = single() || bar.empty() ? "" : Shorten(EscapeText(bar), 30) + ": ";
        const std::string_view why = segment.style == Style::kUntrackable
                                         ? "more is tracked than expected"
                                         : "below zero, not drawn";
        const std::string text =
            fmt::format("{}{} {}: {}", of, Shorten(EscapeText(segment.name), 30),
                        SizeText(segment.bytes, axis_), why);
        canvas_.Text({left, y}, canvas_.Elide(text, width_, kSmall), kSmall);
      }
    }
    return y + 2;
  }

  const BarPanel& panel_;
  const SizeAxis& axis_;
  double width_;
  Canvas& canvas_;
  std::vector<Category> categories_;
  double axis_width_;
  double key_width_ = 0;
  double bar_width_ = kNarrowBar;  // of a single one
  Rect plot_;
};

// What the numbers below bars stand for; once when all panels have the same bars.
double DrawNumbers(const BarChart& chart, double y, double width, Canvas& canvas) {
  const auto names_of = [](const BarPanel& panel) {
    std::vector<std::string> names;
    for (const StackedBar& bar : panel.bars) {
      names.push_back(bar.name);
    }
    return names;
  };
  const auto first = names_of(chart.panels[0]);
  const bool same = std::all_of(chart.panels.begin(), chart.panels.end(),
                                [&](const BarPanel& panel) { return names_of(panel) == first; });
  for (std::size_t i = 0; i < (same ? 1 : chart.panels.size()); ++i) {
    const BarPanel& panel = chart.panels[i];
    for (std::size_t k = 0; k < panel.bars.size(); ++k) {
      y += kLineHeight;
      const std::string of = same ? "" : Shorten(EscapeText(panel.title), 30) + " ";
      const std::string text = fmt::format("{}{}  {}", of, k + 1, EscapeText(panel.bars[k].name));
      canvas.Text({kMargin, y}, canvas.Elide(text, width - 2 * kMargin, kSmall), kSmall);
    }
  }
  return y;
}

// How panels are arranged in rows and columns.
struct Arrangement {
  std::size_t columns = 1;
  double panel_width = 0;
};
Arrangement Arrange(const BarChart& chart, double width) {
  double narrowest = 1;
  for (const BarPanel& panel : chart.panels) {
    narrowest = std::max(narrowest, BarPanelDrawing::NarrowestFor(panel));
  }
  const double inner = width - 2 * kMargin;
  const auto fitting = static_cast<std::size_t>((inner + kGap) / (narrowest + kGap));
  const std::size_t columns =
      std::clamp<std::size_t>(fitting, 1, std::max<std::size_t>(1, chart.panels.size()));
  return {columns,
          (inner - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns)};
}

}  // namespace

double Draw(const BarChart& chart, double width, Canvas& canvas) {
  std::int64_t highest = 0;
  for (const BarPanel& panel : chart.panels) {
    for (const StackedBar& bar : panel.bars) {
      highest = std::max(highest, ComputeSum(bar));
    }
  }
  const SizeAxis axis = MakeSizeAxis(static_cast<double>(highest), chart.unit, 6);
  const auto [columns, panel_width] = Arrange(chart, width);
  std::vector<BarPanelDrawing> panels;
  double plot_height = 0;
  for (const BarPanel& panel : chart.panels) {
    panels.emplace_back(panel, axis, panel_width, canvas);
    plot_height = std::max(plot_height, panels.back().PlotHeight());
  }
  double names = 0;
  for (const double size : {5.5, 6.0, 7.0}) {
    const bool fit = std::all_of(panels.begin(), panels.end(),
                                 [size](const auto& panel) { return panel.NamesFit(size); });
    names = fit ? size : names;
  }
  double y = DrawTitle(chart.title, chart.subtitle, width, canvas);
  for (std::size_t first = 0; first < panels.size(); first += columns) {
    double below = y;
    for (std::size_t i = first; i < std::min(first + columns, panels.size()); ++i) {
      const double x = kMargin + (panel_width + kGap) * static_cast<double>(i - first);
      below = std::max(below, panels[i].Draw({x, y}, plot_height, names));
    }
    y = below + (first + columns < panels.size() ? kGap : 0);
  }
  if (names == 0 && !panels.empty()) {
    y = DrawNumbers(chart, y, width, canvas) + 2;
  }
  return y + kMargin;
}

}  // namespace memtool::commands
