#include "memtool/formats/limits.h"

#include <array>
#include <utility>

namespace memtool::formats {

Result<void> SetLimit(Limits& limits, std::string_view name, std::uint64_t value) {
  const std::array<std::pair<std::string_view, std::uint64_t*>, 6> known{{
      {"unpacked-bytes", &limits.unpacked_bytes},
      {"ratio", &limits.ratio},
      {"record-bytes", &limits.record_bytes},
      {"string-bytes", &limits.string_bytes},
      {"depth", &limits.depth},
      {"samples", &limits.samples},
  }};
  std::string names;
  for (const auto& [known_name, slot] : known) {
    if (known_name == name) {
      *slot = value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(known_name);
  }
  return Fail(ErrorCode::kUsage, "there is no limit '" + std::string(name) + "'",
              "limits: " + names);
}

}  // namespace memtool::formats
