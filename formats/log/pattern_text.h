// The language of patterns: text with placeholders → an expression of RE2 and what its groups hold.
#pragma once

#include <string_view>

#include "log/patterns.h"
#include "memtool/profile/base/result.h"

namespace memtool::formats::log {

// Fills expression, captures and anchor of `pattern`. Errors: kMalformed for an unknown
// placeholder, one that does not end, or a text without five fixed characters in one piece.
Result<void> CompilePattern(std::string_view text, Pattern& pattern);

// A number as logs write it, with a sign and commas, in `unit` bytes: the amount and how far
// rounding may have moved it. None when it is out of range or no number.
struct ReadAmount {
  std::int64_t value = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;
};
std::optional<ReadAmount> ParseAmount(std::string_view number, std::int64_t unit, bool rounds_down);
// "GiB", "MB", "bytes", "M" → bytes, as powers of 1024; 1 for an empty one, 0 for no unit.
std::int64_t ParseUnit(std::string_view unit);
// The same as tables write units: there MB and GB are powers of 1000.
std::int64_t UnitOf(std::string_view unit);

}  // namespace memtool::formats::log
