// memtool events --summary: allocations by who made them and how long they lived.
#pragma once

#include <cstddef>
#include <string_view>

#include "memtool/profile/answers/churn.h"
#include "output/text_table.h"

namespace memtool::commands {

// "100" entries, or a time: "5ms", "250us", "1.5s". Errors: kUsage.
Result<ShortLived> ParseShortLived(std::string_view text);

// Rows, those that allocate most first, below lines that say what the sums mean.
TextTable ChurnTable(const ChurnAnswer& answer, std::size_t limit);

}  // namespace memtool::commands
