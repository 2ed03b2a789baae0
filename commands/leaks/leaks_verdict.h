// What memtool leaks says of a series in sentences with numbers.
#pragma once

#include <string>
#include <vector>

#include "leaks/leaks_report.h"

namespace memtool::commands {

// The first sentence is the verdict. GROWING is said only of rows whose evidence is strong.
std::vector<std::string> LeaksVerdict(const GrowthSeries& series, const LeaksContext& context);
// What did not change, so that a reader need not wonder.
std::string ConstantText(const GrowthSeries& series, const LeaksContext& context);

}  // namespace memtool::commands
