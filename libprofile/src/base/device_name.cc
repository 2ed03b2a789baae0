#include "memtool/profile/base/device_name.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "memtool/profile/base/numbers.h"

namespace memtool {

bool DeviceMatches(std::string_view name, std::string_view wanted) {
  if (name == wanted) {
    return true;
  }
  const auto ordinal = ParseNumber<std::uint64_t>(wanted);
  if (!ordinal) {
    return false;
  }
  // The first number that stands alone: "cuda:3", "TPU_3(process=0,...)", "3".
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (digit && (i == 0 || std::string_view(":_ ").find(name[i - 1]) != std::string_view::npos)) {
      const std::size_t end = std::min(name.find_first_not_of("0123456789", i), name.size());
      return ParseNumber<std::uint64_t>(name.substr(i, end - i)) == ordinal;
    }
  }
  return false;
}

}  // namespace memtool
