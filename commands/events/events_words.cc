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

namespace {

constexpr std::uint64_t kTen = 10;

// number / unit with `digits` digits that count, trailing zeros left out: what "{:.4g}" makes of a
// quotient from 1 to below 1,000, in whole numbers. None for others, and where the quotient lies
// between two such numbers, of which a double chooses.
std::optional<std::string> FourDigits(std::int64_t number, std::int64_t unit) {
  constexpr std::uint64_t kThousand = 1000;
  const auto size = static_cast<std::uint64_t>(unit);
  if (number < unit || static_cast<std::uint64_t>(number) / kThousand >= size) {
    return std::nullopt;
  }
  auto scaled = static_cast<std::uint64_t>(number);
  unsigned decimals = 0;
  for (; scaled / size < kThousand; scaled *= kTen) {
    ++decimals;
  }
  if (scaled % size * 2 == size) {
    return std::nullopt;
  }
  std::uint64_t rounded = (scaled + size / 2) / size;
  for (; decimals > 0 && rounded % kTen == 0; rounded /= kTen) {
    --decimals;
  }
  std::string text(fmt::format_int(rounded).str());
  if (decimals > 0) {
    text.insert(text.size() - decimals, 1, '.');
  }
  return text;
}

// "+41.018097 s", in whole numbers; none where a double decides how it is rounded.
std::optional<std::string> Microseconds(std::int64_t nanos) {
  constexpr std::int64_t kExact = 100'000'000'000'000;
  constexpr std::int64_t kThousand = 1000;
  constexpr std::int64_t kMillion = 1'000'000;
  if (nanos < 0 || nanos > kExact || nanos % kThousand == kThousand / 2) {
    return std::nullopt;
  }
  const std::int64_t micros = (nanos + kThousand / 2) / kThousand;
  const fmt::format_int seconds(micros / kMillion);
  const fmt::format_int rest(kMillion + micros % kMillion);  // a digit more, for the zeros
  std::string text("+");
  text.append(seconds.data(), seconds.size());
  text += '.';
  text.append(rest.data() + 1, rest.size() - 1);
  text += " s";
  return text;
}

}  // namespace

std::string DurationText(std::int64_t nanos) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> kUnits{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  for (const auto& [size, unit] : kUnits) {
    if (nanos >= size || nanos <= -size || size == kUnits.back().first) {
      const auto text = FourDigits(nanos, size);
      return text ? *text + ' ' + unit
                  : fmt::format(FMT_COMPILE("{:.4g} {}"),
                                static_cast<double>(nanos) / static_cast<double>(size), unit);
    }
  }
  return {};
}

std::string SinceText(std::int64_t time, std::int64_t zero) {
  if (time == kNoTime) {
    return {};
  }
  const std::int64_t nanos = SaturatingSubtract(time, zero);
  const auto text = Microseconds(nanos);
  return text ? *text : fmt::format(FMT_COMPILE("+{:.6f} s"), static_cast<double>(nanos) / 1e9);
}

std::string LivedText(std::int64_t events, const std::optional<std::int64_t>& nanos) {
  std::string text = FormatCount(events);
  text += " event";
  text += PluralS(events);
  if (nanos) {
    text += ", ";
    text += DurationText(*nanos);
  }
  return text;
}

std::string FrameText(std::string_view name, std::string_view file, std::int64_t line) {
  const std::string place = PlaceText(file, line);
  return NameText(name) + (place.empty() ? "" : "  " + place);
}

}  // namespace memtool::commands
