// Counts and choices in sentences.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

// What a noun needs after a count: "" or "s".
constexpr std::string_view PluralS(std::integral auto count) {
  return count == 1 ? "" : "s";
}

// "1 row", "2,048 rows".
std::string Counted(std::integral auto count, std::string_view noun) {
  return FormatCount(static_cast<std::int64_t>(count)) + " " + std::string(noun) +
         std::string(PluralS(count));
}

// "leak.py:13", or empty where there is no file; with other lines "leak.py:13 and 2 more".
std::string PlaceText(std::string_view file, std::int64_t line, std::int64_t more_lines = 0);

// A path for the shell lines in advice: in quotes where it needs them; "FILE" where that is not
// enough (bytes that are not shown, quotes in it).
std::string ShellName(std::string_view path);

// A span of time in nanoseconds: "250 ms", "90 s", "12.5 min", "3.0 h", "2.5 days".
std::string TimeSpanText(std::int64_t nanos);
// The nanoseconds of a unit that a profile names: "nanoseconds", "ms"; 0 for no unit of time.
std::int64_t NanosOf(std::string_view unit);
// So many of those, as a span of time; `sign`: also write "+".
std::string TimeText(std::int64_t value, std::int64_t nanos, bool sign = false);

// "event", "event or time", "name, time or given".
std::string OneOf(std::span<const std::string_view> words);

}  // namespace memtool::commands
