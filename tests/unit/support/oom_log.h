// Logs of testdata/oom_text, and the sizes that their messages tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memtool/formats/oom_text.h"
#include "support/files.h"

namespace memtool::test {

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

inline std::int64_t MiB(double value) {
  return static_cast<std::int64_t>(value * static_cast<double>(kMiB) + 0.5);
}
inline std::int64_t GiB(double value) {
  return static_cast<std::int64_t>(value * static_cast<double>(kGiB) + 0.5);
}

// -1: the message does not say.
inline std::int64_t GetBytes(const std::optional<OomNumber>& number) {
  return number ? number->bytes : -1;
}

inline formats::OomLog MakeLog(const std::string& name) {
  const auto bytes = TestFile("oom_text/" + name);
  return formats::FindOoms(AsView(bytes));
}

}  // namespace memtool::test
