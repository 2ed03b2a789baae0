// Buckets as stacked bars.
#pragma once

#include "memtool/profile/answers/buckets.h"
#include "output/plot/plot.h"

namespace memtool::commands {

// A panel for each axis, a bar for each part of the answer.
BarChart MakeChart(const BucketsAnswer& answer, SizeUnit unit);

}  // namespace memtool::commands
