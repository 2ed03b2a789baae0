// Stacked bars. A panel of one bar names each segment beside it, with a leader line; a panel of
// several has percentages inside where they fit and a key that lists all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "memtool/profile/analysis/values.h"
#include "output/escape.h"
#include "output/plot/charts.h"

namespace memtool::commands {

namespace {

constexpr double kHeadroom = 24;      // above a plot: heading, unit, totals
constexpr double kSingleBar = 26;     // width of the bar of a panel that has one
constexpr double kLeader = 22;        // from a bar to its labels
constexpr double kRoomyLabels = 120;  // label columns this wide hold a label in one line
constexpr double kGap = 10;           // between panels
constexpr double kSwatch = 7;

using Style = BarSegment::Style;

struct Category {
  std::string name;
  Style style = Style::kNamed;
  Paint paint;
};

// Names in the order in which bars bring them; Others and Untrackable last.
std::vector<Category> CategoriesOf(const BarPanel& panel) {
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
    all[i].paint = i < named                        ? FillOf(i, named)
                   : all[i].style == Style::kOthers ? FillOfOthers()
                                                    : FillOfUntrackable();
  }
  return all;
}

const Paint& PaintOf(const std::vector<Category>& categories, const BarSegment& segment) {
  return std::find_if(categories.begin(), categories.end(),
                      [&segment](const Category& c) {
                        return c.style == segment.style && c.name == segment.name;
                      })
      ->paint;
}

// What is drawn; doubles, because sums of hostile sizes must not wrap.
double HeightOf(const StackedBar& bar) {
  double sum = 0;
  for (const BarSegment& segment : bar.segments) {
    sum += static_cast<double>(std::max<std::int64_t>(segment.bytes, 0));
  }
  return sum;
}

std::int64_t SumOf(const StackedBar& bar) {
  std::int64_t sum = 0;
  for (const BarSegment& segment : bar.segments) {
    sum = SaturatingAdd(sum, segment.bytes);
  }
  return sum;
}

std::string PercentText(const StackedBar& bar, std::int64_t bytes) {
  const std::int64_t base = bar.percent_base != 0 ? bar.percent_base : SumOf(bar);
  return base <= 0
             ? ""
             : fmt::format("{:.1f}%", 100 * static_cast<double>(bytes) / static_cast<double>(base));
}

// In the axis's unit, unless nothing would be left of it.
std::string SizeText(std::int64_t bytes, const SizeAxis& axis) {
  std::string text = FormatSize(bytes, axis.unit);
  return bytes != 0 && text.starts_with("0.00 ") ? FormatSize(bytes) : text;
}

class BarPanelDrawing {
 public:
  BarPanelDrawing(const BarPanel& panel, const SizeAxis& axis, double width, Canvas& canvas)
      : panel_(panel),
        axis_(axis),
        width_(width),
        canvas_(canvas),
        categories_(CategoriesOf(panel)),
        axis_width_(SizeAxisWidth(axis, canvas)) {
    for (const Category& category : categories_) {
      key_width_ =
          std::max(key_width_, canvas.Width(Shorten(EscapeText(category.name), 60), kBody));
    }
    // The key takes what its names need, the bars keep at least half.
    key_width_ = std::min(key_width_ + kSwatch + 4, (width - axis_width_) * 0.45);
  }

  static double NarrowestFor(const BarPanel& panel) {
    return panel.bars.size() == 1 ? 112 : 110 + 24 * static_cast<double>(panel.bars.size());
  }

  [[nodiscard]] double PlotHeight() const {
    const double pleasant = std::clamp(0.42 * width_ + 64, 110.0, 200.0);
    const double line = single() ? LabelHeight() : kLineHeight;
    return std::max(pleasant, line * static_cast<double>(categories_.size() + 1));
  }

  // Returns the y below the panel.
  double Draw(const Point& corner, double plot_height) {
    const double labels = single() ? width_ - axis_width_ - kSingleBar - 6 : key_width_ + 8;
    plot_ = {corner.x + axis_width_, corner.y + kHeadroom, width_ - axis_width_ - labels,
             plot_height};
    TextStyle heading = kHeading;
    canvas_.Text({corner.x, corner.y + 7}, canvas_.Elide(EscapeText(panel_.title), width_, heading),
                 heading);
    DrawSizeAxis(axis_, plot_, canvas_);
    const double slot =
        plot_.width / static_cast<double>(std::max<std::size_t>(1, panel_.bars.size()));
    for (std::size_t i = 0; i < panel_.bars.size(); ++i) {
      const double bar_width = single() ? kSingleBar : std::min(slot * 0.74, 40.0);
      DrawBar(panel_.bars[i], plot_.x + slot * (static_cast<double>(i) + 0.5), bar_width, slot);
    }
    canvas_.Lines({{plot_.x, Bottom()}, {plot_.x + plot_.width, Bottom()}}, {.width = 0.7});
    if (single()) {
      DrawLabels(panel_.bars[0]);
    } else {
      DrawKey();
    }
    const double below = DrawNames(Bottom(), slot, corner.x);
    return DrawNotes(below, corner.x);
  }

 private:
  [[nodiscard]] bool single() const { return panel_.bars.size() == 1; }
  [[nodiscard]] double LabelRoom() const { return width_ - axis_width_ - kSingleBar - 6 - kLeader; }
  [[nodiscard]] bool roomy() const { return LabelRoom() >= kRoomyLabels; }
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
      const Paint& paint = PaintOf(categories_, segment);
      canvas_.Fill(box, paint);
      canvas_.Outline(box, {.width = box.height < 1.5 ? 0.2 : 0.5});
      if (!single()) {
        DrawPercent(PercentText(bar, segment.bytes), box, paint);
      }
      below = above;
    }
    TextStyle total{.size = 6.5, .bold = true, .align = Align::kCenter};
    std::string text = SizeText(SumOf(bar), axis_);
    if (!single() && canvas_.Width(text, total) > slot - 2) {
      text = text.substr(0, text.find(' '));  // the axis tells the unit
      total.size = 6;
    }
    canvas_.Text({centre, Y(below) - 2.5}, text, total);
  }

  // Inside, on a plate where there is a pattern; not at all where it would not fit.
  void DrawPercent(const std::string& text, const Rect& box, const Paint& paint) {
    const bool dark = Lightness(paint.color) < 0.55;
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
    const double right_of_bar = plot_.x + plot_.width / 2 + kSingleBar / 2;
    const double x = right_of_bar + kLeader;
    const double centre = roomy() ? y : y - 4;
    canvas_.Lines(
        {{right_of_bar + 1, at}, {right_of_bar + 5, at}, {x - 6, centre}, {x - 2, centre}},
        {.width = 0.4, .color = kGrey});
    const std::string size = SizeText(segment.bytes, axis_);
    const std::string percent = PercentText(bar, segment.bytes);
    const std::string name = EscapeText(segment.name);
    const double room = width_ - axis_width_ - kSingleBar - 3 - kLeader;
    if (!roomy()) {
      canvas_.Text({x, centre + 2.4}, canvas_.Elide(name, room, kBody), kBody);
      canvas_.Text({x, centre + 10.4}, size + "  " + percent, kSmall);
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
    for (auto category = categories_.rbegin(); category != categories_.rend(); ++category) {
      const Rect swatch{x, y - kSwatch / 2, kSwatch, kSwatch};
      canvas_.Fill(swatch, category->paint);
      canvas_.Outline(swatch, {.width = 0.4});
      canvas_.Text({x + kSwatch + 3, y + 2.4},
                   canvas_.Elide(EscapeText(category->name), key_width_ - kSwatch - 3, kBody),
                   kBody);
      y += kLineHeight + 1;
    }
  }

  // Below their bars; where they do not fit, numbers that are explained below.
  double DrawNames(double y, double slot, double left) {
    const auto has_name = [](const StackedBar& bar) { return !bar.name.empty(); };
    if (std::none_of(panel_.bars.begin(), panel_.bars.end(), has_name)) {
      return y + 3;
    }
    TextStyle style = kBody;
    style.align = Align::kCenter;
    const bool fits =
        !single() &&
        std::all_of(panel_.bars.begin(), panel_.bars.end(), [&](const StackedBar& bar) {
          return canvas_.Width(Shorten(EscapeText(bar.name), 400), style) <= slot - 3;
        });
    y += kLineHeight;
    for (std::size_t i = 0; i < panel_.bars.size() && !single(); ++i) {
      canvas_.Text({plot_.x + slot * (static_cast<double>(i) + 0.5), y},
                   fits ? EscapeText(panel_.bars[i].name) : std::to_string(i + 1), style);
    }
    if (fits) {
      return y + 3;
    }
    y += single() ? 0 : kLineHeight + 1;
    for (std::size_t i = 0; i < panel_.bars.size(); ++i) {
      const std::string number = single() ? "" : fmt::format("{}  ", i + 1);
      canvas_.Text({left, y},
                   canvas_.Elide(number + EscapeText(panel_.bars[i].name), width_, kSmall), kSmall);
      y += kLineHeight;
    }
    return y - kLineHeight + 3;
  }

  double DrawNotes(double y, double left) {
    for (const StackedBar& bar : panel_.bars) {
      for (const BarSegment& segment : bar.segments) {
        if (segment.bytes >= 0) {
          continue;
        }
        y += kLineHeight;
        const std::string of = single() || bar.name.empty() ? "" : EscapeText(bar.name) + ": ";
        const std::string why = segment.style == Style::kUntrackable
                                    ? "more is tracked than expected"
                                    : "below zero, not drawn";
        const std::string amount = SizeText(segment.bytes, axis_);
        canvas_.Text(
            {left, y},
            canvas_.Elide(of + Shorten(EscapeText(segment.name), 30) + " " + amount + ": " + why,
                          width_, kSmall),
            kSmall);
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
  Rect plot_;
};

}  // namespace

double Draw(const BarChart& chart, double width, Canvas& canvas) {
  double highest = 0;
  double narrowest = 1;
  for (const BarPanel& panel : chart.panels) {
    narrowest = std::max(narrowest, BarPanelDrawing::NarrowestFor(panel));
    for (const StackedBar& bar : panel.bars) {
      highest = std::max(highest, HeightOf(bar));
    }
  }
  const SizeAxis axis = MakeSizeAxis(highest, chart.unit, 6);
  const double inner = width - 2 * kMargin;
  const std::size_t fitting = static_cast<std::size_t>((inner + kGap) / (narrowest + kGap));
  const std::size_t columns =
      std::clamp<std::size_t>(fitting, 1, std::max<std::size_t>(1, chart.panels.size()));
  const double panel_width =
      (inner - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
  double y = DrawTitle(chart.title, chart.subtitle, width, canvas);
  for (std::size_t first = 0; first < chart.panels.size(); first += columns) {
    const std::size_t last = std::min(first + columns, chart.panels.size());
    double plot_height = 0;
    for (std::size_t i = first; i < last; ++i) {
      plot_height = std::max(
          plot_height, BarPanelDrawing(chart.panels[i], axis, panel_width, canvas).PlotHeight());
    }
    double below = y;
    for (std::size_t i = first; i < last; ++i) {
      const double x = kMargin + (panel_width + kGap) * static_cast<double>(i - first);
      BarPanelDrawing panel(chart.panels[i], axis, panel_width, canvas);
      below = std::max(below, panel.Draw({x, y}, plot_height));
    }
    y = below + kGap;
  }
  return y - kGap + kMargin;
}

}  // namespace memtool::commands
