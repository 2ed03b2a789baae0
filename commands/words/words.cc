#include "words/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/paths.h"

namespace memtool::commands {

std::string ShellName(std::string_view path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=:,@%/";
  const bool shown = std::all_of(path.begin(), path.end(),
                                 [](char c) { return c >= ' ' && c <= '~' && c != '\''; });
  if (path.empty() || !shown) {
    return "FILE";
  }
  return path.find_first_not_of(kPlain) == std::string_view::npos ? std::string(path)
                                                                  : fmt::format("'{}'", path);
}

std::string TimeSpanText(std::int64_t nanos) {
  const double seconds = static_cast<double>(nanos) / 1e9;
  return seconds < 1        ? fmt::format("{:.3g} ms", seconds * 1000)
         : seconds < 120    ? fmt::format("{:.3g} s", seconds)
         : seconds < 7200   ? fmt::format("{:.1f} min", seconds / 60)
         : seconds < 172800 ? fmt::format("{:.1f} h", seconds / 3600)
                            : fmt::format("{:.1f} days", seconds / 86400);
}

std::int64_t NanosOf(std::string_view unit) {
  struct Known {
    std::string_view name, brief;
    std::int64_t nanos;
  };
  constexpr std::array<Known, 4> kUnits{{{"nanoseconds", "ns", 1},
                                         {"microseconds", "us", 1'000},
                                         {"milliseconds", "ms", 1'000'000},
                                         {"seconds", "s", 1'000'000'000}}};
  for (const Known& known : kUnits) {
    if (unit == known.name || unit == known.brief) {
      return known.nanos;
    }
  }
  return 0;
}

std::string TimeText(std::int64_t value, std::int64_t nanos, bool sign) {
  const std::int64_t span = SaturatingMultiply(Magnitude(value), nanos);
  return (value < 0 ? "-" : sign ? "+" : "") + (value == 0 ? "0 s" : TimeSpanText(span));
}

std::string OneOf(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string PlaceText(std::string_view file, std::int64_t line, std::int64_t more_lines) {
  constexpr std::size_t kLongest = 4096;  // the longest path of a system
  std::string place = Abridge(file == "??" ? std::string_view{} : BaseName(file), kLongest);
  if (line <= 0 || place.empty()) {
    return place;
  }
  return more_lines > 0 ? fmt::format("{}:{} and {} more", place, line, FormatCount(more_lines))
                        : fmt::format("{}:{}", place, line);
}

}  // namespace memtool::commands
