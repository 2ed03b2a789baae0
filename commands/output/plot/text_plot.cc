#include "output/plot/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/plot/charts.h"

namespace memtool::commands {

namespace {

constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kReserved = "─";
constexpr std::string_view kOom = "▼";
constexpr std::string_view kMark = "╷";

using Style = BarSegment::Style;

struct Sign {
  std::string text;  // what fills a cell without colours
  Ink ink = Ink::kNone;
};

std::vector<Sign> MakeSigns(const AreaPanel& panel) {
  std::vector<Sign> signs;
  std::size_t named = 0;
  for (const AreaLayer& layer : panel.layers) {
    if (layer.style == Style::kUntrackable) {
      signs.push_back({"░", Ink::kBefore});
    } else if (layer.style == Style::kOthers) {
      signs.push_back({"·", Ink::kRest});
    } else {
      const std::string letter(1, static_cast<char>('a' + static_cast<char>(named % 26)));
      signs.push_back({letter, SeriesInk(named++)});
    }
  }
  return signs;
}

std::string MakeLabel(const SizeAxis& axis, int tick) {
  return fmt::format("{} {}", axis.Label(tick), axis.UnitName());
}

std::size_t ComputeGutter(const std::vector<SizeAxis>& axes) {
  std::size_t gutter = 0;
  for (const SizeAxis& axis : axes) {
    for (int tick = 0; tick <= axis.count; ++tick) {
      gutter = std::max(gutter, MakeLabel(axis, tick).size());
    }
  }
  return gutter;
}

class PanelText {
 public:
  // `gutter`: cells left of the axis, the same for all panels of a chart.
  PanelText(const AreaChart& chart, const AreaPanel& panel, const SizeAxis& axis,
            std::size_t gutter, const TextPlotStyle& style)
      : chart_(chart),
        panel_(panel),
        axis_(axis),
        style_(style),
        signs_(MakeSigns(panel)),
        gutter_(gutter) {
    columns_ = style.width > gutter_ + 12 ? style.width - gutter_ - 3 : 10;
    const std::size_t tall = chart.panels.size() == 1 ? 16 : chart.panels.size() <= 3 ? 10 : 6;
    const auto steps = static_cast<std::size_t>(axis.count);
    rows_per_tick_ = std::max<std::size_t>(1, tall / steps);
    rows_ = rows_per_tick_ * steps;
    Collect();
  }

  VisibleText Draw() {
    VisibleText out = MarkLine();
    for (std::size_t row = rows_; row-- > 0;) {
      const bool tick = (row + 1) % rows_per_tick_ == 0;
      const auto number = static_cast<int>((row + 1) / rows_per_tick_);
      out.Append(fmt::format("{:>{}} {}", tick ? Label(number) : "", gutter_, tick ? "┤" : "│"));
      out.Append(Line(row)).EndLine();
    }
    out.Append(fmt::format("{:>{}} └", Label(0), gutter_));
    for (std::size_t column = 0; column < columns_; ++column) {
      out.Append("─");
    }
    return out.EndLine().Append(TickLine()).EndLine();
  }

 private:
  [[nodiscard]] std::string Label(int tick) const { return MakeLabel(axis_, tick); }

  [[nodiscard]] std::size_t BuildColumn(std::int64_t x) const {
    const auto first = static_cast<double>(panel_.x.front());
    const double span = std::max(1.0, static_cast<double>(panel_.x_end) - first);
    const double place = (static_cast<double>(x) - first) / span * static_cast<double>(columns_);
    return std::min(static_cast<std::size_t>(std::max(0.0, place)), columns_ - 1);
  }

  [[nodiscard]] std::int64_t SumAt(std::size_t point) const {
    std::int64_t sum = 0;
    for (const AreaLayer& layer : panel_.layers) {
      sum = SaturatingAdd(sum, layer.bytes[point]);
    }
    return sum;
  }

  // Per column its highest point; columns without one show the value carried over.
  void Collect() {
    highest_.assign(columns_, 0);
    reserved_.assign(columns_, 0);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < panel_.x.size(); ++i) {
      const std::size_t column = BuildColumn(panel_.x[i]);
      for (; filled <= column; ++filled) {
        // The new column's own points decide; the carried one counts only in those between.
        const bool own = filled == column;
        highest_[filled] = own || i == 0 ? i : i - 1;
        reserved_[filled] = panel_.reserved.empty() ? 0 : panel_.reserved[highest_[filled]];
      }
      highest_[column] = SumAt(i) > SumAt(highest_[column]) ? i : highest_[column];
      if (!panel_.reserved.empty()) {
        reserved_[column] = std::max(reserved_[column], panel_.reserved[i]);
      }
    }
    for (; filled < columns_; ++filled) {
      highest_[filled] = panel_.x.size() - 1;
      reserved_[filled] = panel_.reserved.empty() ? 0 : panel_.reserved.back();
    }
  }

  // In eighths of a row.
  [[nodiscard]] double Eighths(std::int64_t bytes) const {
    return static_cast<double>(bytes) / axis_.top() * static_cast<double>(rows_) * 8;
  }

  // One row of cells; neighbours of one colour share it.
  [[nodiscard]] VisibleText Line(std::size_t row) const {
    VisibleText line;
    std::string run;
    Ink ink = Ink::kNone;
    const auto flush = [&] {
      line.Append(run, style_.palette[ink]);
      run.clear();
    };
    for (std::size_t column = 0; column < columns_; ++column) {
      const Sign cell = Cell(column, row);
      if (cell.ink != ink) {
        flush();
        ink = cell.ink;
      }
      run += cell.text;
    }
    flush();
    return line.TrimEnd();
  }

  [[nodiscard]] Sign Cell(std::size_t column, std::size_t row) const {
    const std::int64_t sum = SumAt(highest_[column]);
    const double base = static_cast<double>(row) * 8;
    double fill = std::clamp(Eighths(sum) - base, 0.0, 8.0);
    if (row == 0 && sum > 0) {
      fill = std::max(fill, 1.0);  // what is not zero stays visible
    }
    const auto eighths = static_cast<std::size_t>(std::lround(fill));
    if (eighths == 0) {
      const double reserved = Eighths(reserved_[column]);
      const bool here = reserved > 0 && reserved > base && reserved <= base + 8;
      return {std::string(here ? kReserved : " "), Ink::kNone};
    }
    const double middle = std::min(base + fill / 2, (base + Eighths(sum)) / 2);
    const Sign& sign = signs_[LayerAt(highest_[column], middle)];
    if (!style_.palette && panel_.layers.size() > 1) {
      return {eighths >= 4 || row == 0 ? sign.text : " ", sign.ink};
    }
    return {std::string(kBlocks[eighths]), sign.ink};
  }

  // The layer at a height.
  [[nodiscard]] std::size_t LayerAt(std::size_t point, double eighths) const {
    std::int64_t sum = 0;
    for (std::size_t layer = 0; layer < panel_.layers.size(); ++layer) {
      sum = SaturatingAdd(sum, panel_.layers[layer].bytes[point]);
      if (Eighths(sum) > eighths) {
        return layer;
      }
    }
    return panel_.layers.size() - 1;
  }

  // Out-of-memory events and marks above the plot, with the names that fit.
  [[nodiscard]] VisibleText MarkLine() const {
    VisibleText line;
    if (panel_.marks.empty()) {
      return line;
    }
    std::vector<VisibleText> cells(columns_, VisibleText(" "));
    for (const bool oom : {false, true}) {  // an out-of-memory event covers a mark
      for (const AreaMark& mark : panel_.marks) {
        if (mark.oom == oom) {
          cells[BuildColumn(mark.x)] = VisibleText().Append(
              oom ? kOom : kMark, style_.palette[oom ? Ink::kGrew : Ink::kNone]);
        }
      }
    }
    NameMarks(cells);
    line.AppendBlanks(gutter_ + 2);
    for (const VisibleText& cell : cells) {
      line.Append(cell);
    }
    return line.TrimEnd().EndLine();
  }

  // Puts the names of marks after them, where the cells are free.
  void NameMarks(std::vector<VisibleText>& cells) const {
    const VisibleText free(" ");
    for (const AreaMark& mark : panel_.marks) {
      const std::string name = Shorten(EscapeText(mark.name), 20);
      const std::size_t width = DisplayWidth(name);
      const std::size_t at = BuildColumn(mark.x) + 1;
      bool fits = at + width < columns_;
      for (std::size_t i = at; fits && i < at + width + 1; ++i) {
        fits = cells[i] == free;
      }
      if (fits) {
        cells[at] = VisibleText(name);
        std::fill_n(cells.begin() + static_cast<std::ptrdiff_t>(at) + 1, width - 1, VisibleText());
      }
    }
  }

  [[nodiscard]] std::string TickLine() const {
    std::string line;
    const auto ticks = MakeTicks(chart_.axis, panel_.x.front(), panel_.x_end,
                                 std::max(2, static_cast<int>(columns_ / 14)));
    std::size_t used = 0;
    for (const AxisTick& tick : ticks) {
      const std::size_t at = BuildColumn(tick.at);
      const std::size_t width = DisplayWidth(tick.label);
      if (at >= used && at + width <= columns_) {
        line += std::string(at - used, ' ') + tick.label;
        used = at + width + 2;
        line += "  ";
      }
    }
    const std::string_view name = chart_.axis == AreaChart::Axis::kEvents ? "event" : "time";
    if (used + name.size() <= columns_) {
      line += std::string(columns_ - used - name.size(), ' ');
      line += name;
    }
    return std::string(gutter_ + 2, ' ') + line.substr(0, line.find_last_not_of(' ') + 1);
  }

  const AreaChart& chart_;
  const AreaPanel& panel_;
  const SizeAxis& axis_;
  const TextPlotStyle& style_;
  std::vector<Sign> signs_;
  std::size_t gutter_;
  std::size_t columns_ = 10;
  std::size_t rows_ = 0;
  std::size_t rows_per_tick_ = 1;
  std::vector<std::size_t> highest_;  // per column: a point
  std::vector<std::int64_t> reserved_;
};

// What the signs mean, as many to a line as fit.
class KeyLines {
 public:
  explicit KeyLines(const TextPlotStyle& style) : style_(style) {}

  void Add(std::string_view sign, Ink ink, const std::string& name) {
    const std::size_t needs = DisplayWidth(name) + 2;
    if (used_ > 0) {
      const bool fits = used_ + 3 + needs <= style_.width;
      text_.AppendLines(fits ? "   " : "\n");
      used_ = fits ? used_ + 3 : 0;
    }
    text_.Append(sign, style_.palette[ink]).Append(" ").Append(name);
    used_ += needs;
  }

  void EndLine() { used_ = style_.width; }
  [[nodiscard]] VisibleText Finish() { return std::move(text_.EndLine()); }

 private:
  const TextPlotStyle& style_;
  VisibleText text_;
  std::size_t used_ = 0;
};

bool HasMark(const AreaChart& chart, bool oom) {
  return std::any_of(chart.panels.begin(), chart.panels.end(), [oom](const AreaPanel& panel) {
    return std::any_of(panel.marks.begin(), panel.marks.end(),
                       [oom](const AreaMark& mark) { return mark.oom == oom; });
  });
}

VisibleText KeyText(const AreaChart& chart, const TextPlotStyle& style) {
  const AreaPanel& panel = chart.panels.front();
  const std::vector<Sign> signs = MakeSigns(panel);
  const bool layered = panel.layers.size() > 1;
  KeyLines lines(style);
  for (std::size_t i = panel.layers.size(); i-- > 0;) {
    const std::string name =
        Shorten(EscapeText(panel.layers[i].name), style.width > 8 ? style.width - 4 : 4);
    lines.Add(!layered || style.palette ? kBlocks.back() : signs[i].text, signs[i].ink, name);
    if (layered) {
      lines.EndLine();  // layers stand below each other, as in the plot
    }
  }
  if (!panel.reserved.empty()) {
    lines.Add(kReserved, Ink::kNone, "reserved");
  }
  if (HasMark(chart, true)) {
    lines.Add(kOom, Ink::kNone, "out of memory");
  }
  if (HasMark(chart, false)) {
    lines.Add(kMark, Ink::kNone, "mark");
  }
  return lines.Finish();
}

}  // namespace

VisibleText TextPlot(const AreaChart& chart, const TextPlotStyle& style) {
  VisibleText out;
  const std::vector<SizeAxis> axes = GetAxes(chart, chart.panels.size() == 1 ? 5 : 3);
  const std::size_t gutter = ComputeGutter(axes);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const AreaPanel& panel = chart.panels[i];
    if (!panel.title.empty()) {
      for (const std::string& line : WrapText(EscapeText(panel.title), style.width)) {
        out.Append(line).EndLine();
      }
    }
    if (!panel.x.empty() && !panel.layers.empty()) {
      out.Append(PanelText(chart, panel, axes[i], gutter, style).Draw());
    }
  }
  if (ScalesDiffer(axes)) {
    out.Append("each device has its own scale (--same-scale)").EndLine();
  }
  return chart.panels.empty() ? out : out.Append(KeyText(chart, style));
}

}  // namespace memtool::commands
