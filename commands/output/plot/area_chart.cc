#include "output/plot/charts.h"
namespace memtool::commands {
double Draw(const AreaChart& chart, double width, Canvas& canvas) {
  return DrawTitle(chart.title, chart.subtitle, width, canvas);
}
}  // namespace memtool::commands
