// Units as profiles name them ("kilobytes", "ms", "GCU") and values in other units. The families,
// the names and what a value in an unknown unit becomes are pprof's: "kB" means 1024 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memtool {

struct Measured {
  double value = 0;
  std::string unit;  // empty when not worth showing
};

// `value` in another unit; "minimum" and "auto" choose the largest unit that keeps it at 1 or more,
// or else the family's base unit (seconds for times).
Measured ConvertUnit(std::int64_t value, std::string_view from, std::string_view to);
// True when both are names of one family: bytes, times, GCU.
bool SameUnitFamily(std::string_view a, std::string_view b);

}  // namespace memtool
