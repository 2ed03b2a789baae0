// Values, units and percentages as pprof writes them. Not memtool's own forms (sizes.h):
// percentages lose their sign, and one unit is chosen for a whole report.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace memtool::commands::pprof {

// A value in a unit as profiles name them: "kilobytes", "ms", "GCU". "kB" means 1024 bytes.
struct Measured {
  double value = 0;
  std::string unit;  // empty when not worth showing
};

// `value` in another unit; "minimum" and "auto" choose the largest unit that keeps it at 1 or more,
// or else the family's base unit (seconds for times).
Measured ConvertUnit(std::int64_t value, std::string_view from, std::string_view to);
// True when both are names of one family: bytes, times, GCU.
bool SameUnitFamily(std::string_view a, std::string_view b);

// Units of numeric labels by key.
using LabelUnits = std::map<std::string, std::string, std::less<>>;

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
