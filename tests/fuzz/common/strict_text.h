// Readers of what the program writes, stricter than those that users have.
#pragma once

#include <string_view>

namespace memtool::fuzz {

// One JSON value as RFC 8259 has it: valid UTF-8, no key twice, nothing after it but white space.
[[nodiscard]] bool IsJson(std::string_view text);
// Lines of such values, each ended.
[[nodiscard]] bool IsJsonLines(std::string_view text);
// RFC 4180: lines ended by \r\n, quotes doubled within quotes, as many fields in each as in the
// first.
[[nodiscard]] bool IsCsv(std::string_view text);

}  // namespace memtool::fuzz
