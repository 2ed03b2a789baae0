// Values, units and percentages as pprof writes them. Not memtool's own forms (sizes.h): "kB" means
// 1024 bytes, signs of percentages are lost, and one unit is chosen for a whole report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memtool::commands::pprof {

struct Measured {
  double value = 0;
  std::string unit;  // empty when not worth showing
};

// `value` in another unit; "minimum" and "auto" choose the largest unit that keeps it at 1 or more.
Measured Scale(std::int64_t value, std::string_view from, std::string_view to);
// "1.50kB", "0".
std::string ScaledLabel(std::int64_t value, std::string_view from, std::string_view to);
// "12.34%", six wide.
std::string Percentage(std::int64_t value, std::int64_t total);
// The same without the padding.
std::string TrimmedPercentage(std::int64_t value, std::int64_t total);
// True when both are names of one family: bytes, times, GCU.
bool SameFamily(std::string_view a, std::string_view b);

// Integers as Go computes them: sums wrap around, doubles out of range become the lowest int64.
std::int64_t WrapAdd(std::int64_t a, std::int64_t b);
std::int64_t WrapNegate(std::int64_t value);
std::int64_t Abs(std::int64_t value);
std::int64_t Quotient(std::int64_t value, std::int64_t divisor);
std::int64_t ToInt(double value);

}  // namespace memtool::commands::pprof
