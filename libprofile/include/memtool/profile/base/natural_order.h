// An order of names in which numbers count as numbers.
#pragma once

#include <string_view>

namespace memtool {

// Compares runs of digits as numbers: "memory2.prof" before "memory10.prof".
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace memtool
