#include "events/events_words.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/history.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

std::string DurationText(std::int64_t nanos) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  const auto value = static_cast<double>(nanos);
  for (const auto& [size, unit] : kUnits) {
    if (value >= size || value <= -size || size == kUnits.back().first) {
      return fmt::format(FMT_COMPILE("{:.4g} {}"), value / size, unit);
    }
  }
  return {};
}

std::string SinceText(std::int64_t time, std::int64_t zero) {
  return time == kNoTime ? std::string{}
                         : fmt::format(FMT_COMPILE("+{:.6f} s"),
                                       static_cast<double>(SaturatingSubtract(time, zero)) / 1e9);
}

std::string LivedText(std::int64_t events, const std::optional<std::int64_t>& nanos) {
  std::string text = Counted(events, "event");
  return nanos ? text + ", " + DurationText(*nanos) : text;
}

std::string FrameText(std::string_view name, std::string_view file, std::int64_t line) {
  const std::string place = PlaceText(file, line);
  return NameText(name) + (place.empty() ? "" : "  " + place);
}

}  // namespace memtool::commands
