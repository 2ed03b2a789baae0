// The answer about ranks as people read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/answers/ranks.h"
#include "output/plot/plot.h"
#include "output/text_table.h"

namespace memtool::commands {

// "0-15,32": ascending numbers as ranges.
std::string RangesText(const std::vector<std::int64_t>& numbers);
// What stands above the table, the answer first.
std::vector<std::string> RanksHead(const RanksAnswer& answer);
// A cell per rank, lowest block for the least peak and highest for the most; groups of a node's
// ranks are columns. At most `width` columns.
std::vector<std::string> RanksStrip(const RanksAnswer& answer, std::size_t width);
// What stands below the table: what else lies there and what was left out.
std::vector<std::string> RanksFoot(const RanksAnswer& answer);

// A row per class and per outlier.
void TabulateClasses(const RanksAnswer& answer, TextTable& table);
// A row per rank, the first `limit` (0 = all).
void TabulateRanks(const RanksAnswer& answer, std::size_t limit, TextTable& table);

// A bar per rank.
BarChart MakeChart(const RanksAnswer& answer, SizeUnit unit);

}  // namespace memtool::commands
