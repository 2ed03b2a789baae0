// memtool events --summary: allocations by who made them and how long they lived.
#pragma once

#include <string_view>
#include <vector>

#include "memtool/profile/history/churn.h"
#include "output/report.h"

namespace memtool::commands {

// "100" entries, or a time: "5ms", "250us", "1.5s". Errors: kUsage.
Result<ShortLived> ParseShortLived(std::string_view text);

std::vector<Column> SummaryColumns();
// Rows, those that allocate most first; sums; and lines that say what they mean.
void AddSummary(const ChurnSums& sums, const AllocationGroups& groups, const ShortLived& limit,
                Report& report);

}  // namespace memtool::commands
