// Charts as files: SVG, PNG or PDF through Cairo, by the ending of the name. Made for print: widths
// in millimetres, type in points, fills that differ in lightness and pattern, not by colour alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "output/sink.h"

namespace memtool::commands {

// Names are bytes from inputs: charts make them visible and cut them.

struct BarSegment {
  enum class Style : std::uint8_t { kNamed, kOthers, kUntrackable };
  std::string name;
  std::int64_t bytes = 0;  // a negative segment is not drawn but mentioned below its panel
  Style style = Style::kNamed;
};

struct StackedBar {
  std::string name;                  // one input, or empty
  std::vector<BarSegment> segments;  // bottom first
  std::int64_t percent_base = 0;     // what percentages are of; 0 = the bar's own sum
};

// Segments of one name have one fill in all bars of a panel.
struct BarPanel {
  std::string title;  // the axis of the categories
  std::vector<StackedBar> bars;
};

struct BarChart {
  std::string title;     // may be empty
  std::string subtitle;  // may be empty
  SizeUnit unit = SizeUnit::kAuto;
  std::vector<BarPanel> panels;
};

struct AreaLayer {
  std::string name;
  std::vector<std::int64_t> bytes;  // one per x
  BarSegment::Style style = BarSegment::Style::kNamed;
};

// A vertical line at x: an out-of-memory event, or a mark.
struct AreaMark {
  std::string name;
  std::int64_t x = 0;
  bool oom = false;
};

struct AreaPanel {
  std::string title;                   // the device; may be empty
  std::vector<std::int64_t> x;         // ascending; a value holds until the next x
  std::int64_t x_end = 0;              // where the last value ends
  std::vector<AreaLayer> layers;       // bottom first; the same names in all panels of a chart
  std::vector<std::int64_t> reserved;  // one per x, or empty
  std::vector<AreaMark> marks;         // by x
};

struct AreaChart {
  enum class Axis : std::uint8_t { kEvents, kNanoseconds };
  std::string title;
  std::string subtitle;
  SizeUnit unit = SizeUnit::kAuto;
  Axis axis = Axis::kEvents;
  bool same_scale = false;        // of all panels; else each has its own
  std::vector<AreaPanel> panels;  // below each other
};

enum class PlotFormat : std::uint8_t { kSvg, kPng, kPdf };
// By the ending of `path`. Errors: kUsage, naming the three.
Result<PlotFormat> ToPlotFormat(const std::string& path, std::string_view option = "--plot");

struct PlotSize {
  double width_mm = 178;  // the height follows from what is shown
};
// "84mm", "8.4cm", "3.3in"; a plain number is millimetres. Errors: kUsage outside 40 to 1000 mm.
Result<PlotSize> ParsePlotWidth(std::string_view text);

// Whole or not at all. Errors: kUsage for the ending, those of WriteWholeFile.
Result<void> SavePlot(const BarChart& chart, const std::string& path, const PlotSize& size,
                      Streams& streams);
Result<void> SavePlot(const AreaChart& chart, const std::string& path, const PlotSize& size,
                      Streams& streams);

}  // namespace memtool::commands
