// An area chart on a terminal: columns of blocks, with reserved bytes as a line above.
#pragma once

#include <cstddef>
#include <string>

#include "output/plot/plot.h"
#include "output/text/visible_text.h"

namespace memtool::commands {

struct TextPlotStyle {
  std::size_t width = 80;  // cells
  Palette palette{};       // layers by colour; without it by letter
};

// The lines of all panels and the key. Where several points fall into a column, the highest is
// shown. Names must not have gone through an escaper yet.
VisibleText TextPlot(const AreaChart& chart, const TextPlotStyle& style);

}  // namespace memtool::commands
