#include "memtool/formats/limits.h"

#include <array>

namespace memtool::formats {

std::span<const LimitInfo> LimitList() {
  static constexpr std::array<LimitInfo, 8> kLimits{{
      {"memory", &Limits::memory, true, "what the whole process may allocate"},
      {"unpacked-bytes", &Limits::unpacked_bytes, true, "size of an input after unpacking"},
      {"ratio", &Limits::ratio, false, "how many times larger an input may unpack to, past 1 GiB"},
      {"record-bytes", &Limits::record_bytes, true, "one record: a sample, a location, a line"},
      {"string-bytes", &Limits::string_bytes, true, "one string"},
      {"depth", &Limits::depth, false, "nesting"},
      {"samples", &Limits::samples, false, "samples of one profile"},
      {"output-bytes", &Limits::output_bytes, true, "what a command writes to one output"},
  }};
  return kLimits;
}

Result<void> SetLimit(Limits& limits, std::string_view name, std::uint64_t value) {
  std::string names;
  for (const LimitInfo& limit : LimitList()) {
    if (limit.name == name) {
      limits.*limit.value = value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(limit.name);
  }
  return Fail(ErrorCode::kUsage, "there is no limit '" + std::string(name) + "'",
              "limits: " + names);
}

}  // namespace memtool::formats
