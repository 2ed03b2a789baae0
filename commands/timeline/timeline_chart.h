// A timeline's answer as a chart.
#pragma once

#include <string>

#include "memtool/profile/answers/timeline.h"
#include "output/plot/plot.h"

namespace memtool::commands {

// A layer for people: "forward model.py:12" for a frame, else its name.
std::string LayerText(const TimelineAnswer& answer, const TimelineLayer& layer);

// A panel per trace, in the answer's order; titles are for the caller.
AreaChart MakeChart(const TimelineAnswer& answer);

}  // namespace memtool::commands
