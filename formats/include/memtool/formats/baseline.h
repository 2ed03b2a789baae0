// Baselines of memtool check: what an input held once, as JSON that a review can read, and budgets,
// limits as YAML. Both are described in memtool-check(1).
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/answers/check.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::formats {

inline constexpr std::string_view kBaselineSchema = "memtool.baseline/1";

// Equal facts give equal bytes; a line per row, so that differences can be read.
std::string FormatBaseline(const CheckFacts& facts);
// Errors: kMalformed with the key that is wrong; kUnsupported for another schema.
Result<CheckFacts> ParseBaseline(std::string_view text, const std::string& name);
// Errors: also kIo; kLimit past 1 MiB.
Result<CheckFacts> ReadBaseline(const std::string& path);

// Sizes as people write them, by `base`. Errors: kMalformed with line and column.
Result<Budget> ParseBudget(std::string_view text, const std::string& name, SizeBase base);
// Errors: also kIo; kLimit past 1 MiB.
Result<Budget> ReadBudget(const std::string& path, SizeBase base);

}  // namespace memtool::formats
