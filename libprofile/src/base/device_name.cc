#include "memtool/profile/base/device_name.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

namespace memtool {

bool DeviceMatches(std::string_view name, std::string_view wanted) {
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && parsed == end ? std::optional(value) : std::nullopt;
  };
  if (name == wanted) {
    return true;
  }
  const auto ordinal = number(wanted);
  if (!ordinal) {
    return false;
  }
  // The first number that stands alone: "cuda:3", "TPU_3(process=0,...)", "3".
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (digit && (i == 0 || std::string_view(":_ ").find(name[i - 1]) != std::string_view::npos)) {
      const std::size_t end = std::min(name.find_first_not_of("0123456789", i), name.size());
      return number(name.substr(i, end - i)) == ordinal;
    }
  }
  return false;
}

}  // namespace memtool
