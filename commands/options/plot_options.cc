#include "options/plot_options.h"

#include <boost/program_options/value_semantic.hpp>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

void PlotOptions::Declare(po::options_description_easy_init add, const char* help) {
  if (!kDraws) {
    return;
  }
  add("plot", po::value(&path_)->value_name("FILE"), help);
  add("plot-width", po::value(&width_)->value_name("WIDTH"),
      "width of that plot: 84mm, 17.8cm, 7in (default 178mm)");
}

Result<void> PlotOptions::Resolve() {
  if (!kDraws) {
    return {};
  }
  if (wanted()) {
    MEMTOOL_TRY(ToPlotFormat(path_));
  }
  auto size = ParsePlotWidth(width_);
  MEMTOOL_TRY(size);
  size_ = *size;
  return {};
}

Result<void> PlotOptions::Save(const BarChart& chart, Streams& streams) const {
  return SavePlot(chart, path_, size_, streams);
}

Result<void> PlotOptions::Save(const AreaChart& chart, Streams& streams) const {
  return SavePlot(chart, path_, size_, streams);
}

}  // namespace memtool::commands
