// The charts, and what they share. Each draws itself from the top of a page of a given width and
// returns the height it took.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "output/plot/canvas.h"
#include "output/plot/plot.h"

namespace memtool::commands {

double Draw(const BarChart& chart, double width, Canvas& canvas);
double Draw(const AreaChart& chart, double width, Canvas& canvas);

inline constexpr double kMargin = 4;
inline constexpr double kLineHeight = 9;  // of 7 point type
inline constexpr TextStyle kTitle{.size = 9, .bold = true};
inline constexpr TextStyle kHeading{.size = 7.5, .bold = true};
inline constexpr TextStyle kBody{.size = 7};
inline constexpr TextStyle kSmall{.size = 6.5, .color = kGrey};

// Fill `index` of `count`: a ramp from dark to light, every other one with a pattern, so that
// neighbours differ on a copier too.
Paint GetFill(std::size_t index, std::size_t count);
// What the categories leave: white, and white with hatching.
Paint FillOfOthers();
Paint FillOfUntrackable();

// Text in as many lines as it needs, broken at " · "; returns the y below.
double DrawWrapped(std::string_view text, const Rect& area, const TextStyle& style, Canvas& canvas);
// Title and subtitle; returns the y below them.
double DrawTitle(std::string_view title, std::string_view subtitle, double width, Canvas& canvas);

// Values 0, step, 2 step … that reach `highest`, in a unit for sizes.
struct SizeAxis {
  SizeUnit unit = SizeUnit::kGiB;
  double step = 1;  // bytes
  int count = 1;    // steps
  [[nodiscard]] double top() const { return step * count; }
  [[nodiscard]] std::string Label(int tick) const;
  [[nodiscard]] std::string_view UnitName() const;
};
SizeAxis MakeSizeAxis(double highest, SizeUnit unit, int at_most);
// Grid lines and labels left of `plot`, the unit above them.
void DrawSizeAxis(const SizeAxis& axis, const Rect& plot, Canvas& canvas);
double SizeAxisWidth(const SizeAxis& axis, const Canvas& canvas);

// Round values between two ends of an x axis, with their labels: "5,000" events, "1.5 s".
struct AxisTick {
  std::int64_t at = 0;
  std::string label;
};
std::vector<AxisTick> MakeTicks(AreaChart::Axis axis, std::int64_t first, std::int64_t last,
                                int at_most);
// One per panel: up to the most bytes at any x of it, reserved included, or of all panels where
// they share a scale.
std::vector<SizeAxis> GetAxes(const AreaChart& chart, int at_most);
bool ScalesDiffer(const std::vector<SizeAxis>& axes);

// Moves `wanted` centres (ascending) apart until they are `distance` from each other, as near to
// where they were as [low, high] allows; the caller makes sure that they fit.
std::vector<double> Spread(std::vector<double> wanted, double distance, double low, double high);

}  // namespace memtool::commands
