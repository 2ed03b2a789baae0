// Findings from a judged series: rows that have something in common, and when all rows together
// reach a capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/answers/leaks.h"

namespace memtool {

// `cum`: rows hold what their callees hold, so that they do not add up.
std::vector<Finding> CollectFindings(const GrowthSeries& series, bool cum);
Reach ComputeReach(const GrowthSeries& series, std::int64_t capacity);

}  // namespace memtool
