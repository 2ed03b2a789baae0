// `memtool diff --align` in words: two runs, step by step.
#pragma once

#include <cstddef>
#include <string>

#include "memtool/profile/answers/aligned.h"
#include "output/text_table.h"

namespace memtool::commands {

// AlignRuns, with words for inputs without a history.
Result<AlignedAnswer> AlignSides(const Selection& base, const Selection& now, const By& by);

// A share of allocations, rounded down: "99.99%" is not all.
std::string PartnersText(double share);

// Why there are no rows; empty where the runs correspond.
std::string AlignRefusal(const AlignedAnswer& answer);

// `limit`: of rows and of lines about steps; 0 = all.
TextTable AlignedTable(const AlignedAnswer& answer, const std::string& base, const std::string& now,
                       std::size_t limit);

}  // namespace memtool::commands
