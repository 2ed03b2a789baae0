// Values, units and percentages as pprof writes them. Not memtool's own forms (sizes.h):
// percentages lose their sign, and one unit is chosen for a whole report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memtool/profile/base/units.h"

namespace memtool::commands::pprof {

// "1.50kB", "0".
std::string ScaledLabel(std::int64_t value, std::string_view from, std::string_view to);
// "12.34%", six wide.
std::string Percentage(std::int64_t value, std::int64_t total);
// The same without the padding.
std::string TrimmedPercentage(std::int64_t value, std::int64_t total);

// Integers as Go computes them: sums wrap around, doubles out of range become the lowest int64.
std::int64_t WrapAdd(std::int64_t a, std::int64_t b);
std::int64_t WrapNegate(std::int64_t value);
std::int64_t Abs(std::int64_t value);
std::int64_t Quotient(std::int64_t value, std::int64_t divisor);
std::int64_t ToInt(double value);

}  // namespace memtool::commands::pprof
