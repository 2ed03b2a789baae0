#include "memtool/profile/base/arithmetic.h"

#include <cmath>

namespace memtool {

std::int64_t Scaled(std::int64_t value, double factor) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  const double scaled = std::round(static_cast<double>(value) * factor);
  if (std::isnan(scaled)) {
    return 0;
  }
  if (scaled >= kEnd) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return scaled < -kEnd ? std::numeric_limits<std::int64_t>::min()
                        : static_cast<std::int64_t>(scaled);
}

}  // namespace memtool
