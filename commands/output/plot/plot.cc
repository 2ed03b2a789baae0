#include "output/plot/plot.h"

#include <fmt/format.h>

#include <string_view>

#include "memtool/profile/base/numbers.h"
#include "output/plot/canvas.h"
#include "output/plot/charts.h"
#include "output/whole_file.h"

namespace memtool::commands {

namespace {

constexpr double kNarrowest = 40;
constexpr double kMaxWidth = 1000;

// Draws twice: the page's height is known only once everything is placed.
template <class Chart>
Result<void> Save(const Chart& chart, const std::string& path, const PlotSize& size,
                  Streams& streams) {
  auto format = ToPlotFormat(path);
  MEMTOOL_TRY(format);
  MEMTOOL_TRY(Canvas::Prepare());
  const double width = size.width_mm * kPointsPerMm;
  Canvas measuring = Canvas::Measuring();
  const double height = Draw(chart, width, measuring);
  Canvas canvas(*format, {width, height});
  Draw(chart, width, canvas);
  auto bytes = canvas.Finish();
  MEMTOOL_TRY(bytes);
  return WriteWholeFile(path, *bytes, streams);
}

}  // namespace

Result<PlotFormat> ToPlotFormat(const std::string& path, std::string_view option) {
  constexpr std::pair<std::string_view, PlotFormat> kEndings[] = {
      {".svg", PlotFormat::kSvg}, {".png", PlotFormat::kPng}, {".pdf", PlotFormat::kPdf}};
  for (const auto& [ending, format] : kEndings) {
    if (path.ends_with(ending)) {
      return format;
    }
  }
  return Fail(ErrorCode::kUsage,
              std::string(option) + ": '" + path + "' does not end in .svg, .png or .pdf");
}

Result<PlotSize> ParsePlotWidth(std::string_view text) {
  std::string_view unit = text;
  const double value = TakeNumber<double>(unit).value_or(0);
  double scale = 0;
  if (unit.empty() || unit == "mm") {
    scale = 1;
  } else if (unit == "cm") {
    scale = 10;
  } else if (unit == "in") {
    scale = 25.4;
  }
  const double width = value * scale;
  if (!(width >= kNarrowest && width <= kMaxWidth)) {
    return Fail(ErrorCode::kUsage, fmt::format("--plot-width: '{}' is not a width", text),
                "40mm to 1000mm; a column is 84mm, a page 178mm; also cm and in");
  }
  return PlotSize{width};
}

Result<void> SavePlot(const BarChart& chart, const std::string& path, const PlotSize& size,
                      Streams& streams) {
  return Save(chart, path, size, streams);
}

Result<void> SavePlot(const AreaChart& chart, const std::string& path, const PlotSize& size,
                      Streams& streams) {
  return Save(chart, path, size, streams);
}

}  // namespace memtool::commands
