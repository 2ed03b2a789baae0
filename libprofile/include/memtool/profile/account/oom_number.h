// A size as a message has it.
#pragma once

#include <cstdint>

namespace memtool {

// "2.00 GiB" is right to ± 5.12 MiB, "0 bytes" is exact.
struct OomNumber {
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
};

}  // namespace memtool
