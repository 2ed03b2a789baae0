#include "events/events_words.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <string_view>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/history.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Appends number / kUnit with four digits that count, trailing zeros left out: what "{:.4g}" makes
// of a quotient from 1 to below 1,000, in whole numbers. Appends nothing for others, nor where the
// quotient lies between two such numbers, of which a double chooses.
template <std::uint64_t kUnit>
bool AppendFourDigits(std::int64_t number, std::string& text) {
  constexpr std::uint64_t kTen = 10;
  constexpr std::uint64_t kHundred = 100;
  constexpr std::uint64_t kThousand = 1000;
  const auto magnitude = static_cast<std::uint64_t>(number);
  const std::uint64_t whole = magnitude / kUnit;
  if (number < 0 || whole == 0 || whole >= kThousand) {
    return false;
  }
  unsigned decimals = whole >= kHundred ? 1 : whole >= kTen ? 2 : 3;
  const std::uint64_t scaled = magnitude * (decimals == 1   ? kTen
                                            : decimals == 2 ? kHundred
                                                            : kThousand);
  if (scaled % kUnit * 2 == kUnit) {
    return false;
  }
  std::uint64_t rounded = (scaled + kUnit / 2) / kUnit;
  for (; decimals > 0 && rounded % kTen == 0; rounded /= kTen) {
    --decimals;
  }
  const fmt::format_int digits(rounded);
  text.append(digits.data(), digits.size() - decimals);
  if (decimals > 0) {
    text += '.';
    text.append(digits.data() + digits.size() - decimals, decimals);
  }
  return true;
}

void AppendDuration(std::int64_t nanos, std::string& text) {
  const auto beyond = [nanos](std::int64_t unit) { return nanos >= unit || nanos <= -unit; };
  const auto append = [nanos, &text]<std::int64_t kUnit>(std::string_view unit) {
    if (AppendFourDigits<kUnit>(nanos, text)) {
      text += ' ';
      text += unit;
      return;
    }
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{:.4g} {}"),
                   static_cast<double>(nanos) / static_cast<double>(kUnit), unit);
  };
  if (beyond(kSecond)) {
    append.operator()<kSecond>("s");
  } else if (beyond(kMillisecond)) {
    append.operator()<kMillisecond>("ms");
  } else {
    append.operator()<kMicrosecond>("us");
  }
}

std::size_t CountDigits(std::uint64_t number) {
  constexpr std::uint64_t kTen = 10;
  std::size_t digits = 1;
  for (; number >= kTen; number /= kTen) {
    ++digits;
  }
  return digits;
}

// Nanoseconds up to which a double has their microseconds right.
constexpr std::int64_t kExact = 100'000'000'000'000;

// "+41.018097 s", in whole numbers; none where a double decides how it is rounded.
std::optional<std::string> Microseconds(std::int64_t nanos) {
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
  std::string text;
  AppendDuration(nanos, text);
  return text;
}

std::string SinceText(std::int64_t time, std::int64_t zero) {
  if (time == kNoTime) {
    return {};
  }
  const std::int64_t nanos = SaturatingSubtract(time, zero);
  const auto text = Microseconds(nanos);
  return text ? *text : fmt::format("+{:.6f} s", static_cast<double>(nanos) / 1e9);
}

std::string LivedText(std::int64_t events, const std::optional<std::int64_t>& nanos) {
  constexpr std::size_t kUsual = 40;
  std::string text;
  text.reserve(kUsual);
  text += FormatCount(events);
  text += " event";
  text += PluralS(events);
  if (nanos) {
    text += ", ";
    AppendDuration(*nanos, text);
  }
  return text;
}

std::size_t SinceWidth(std::int64_t time, std::int64_t zero) {
  if (time == kNoTime) {
    return 0;
  }
  const std::int64_t nanos = SaturatingSubtract(time, zero);
  if (nanos < 0 || nanos > kExact) {
    return SIZE_MAX;
  }
  constexpr std::string_view kRest = "+.000000 s";
  return CountDigits(static_cast<std::uint64_t>(nanos + kMicrosecond / 2) / kSecond) + kRest.size();
}

std::size_t LivedWidth(std::int64_t events, const std::optional<std::int64_t>& nanos) {
  constexpr std::int64_t kThousandSeconds = 1000 * kSecond;
  if (events < 0 || (nanos && (*nanos < 0 || *nanos >= kThousandSeconds))) {
    return SIZE_MAX;
  }
  constexpr std::string_view kEvents = " events";
  constexpr std::string_view kMaxTimeWidth = ", 99.99 ms";
  const std::size_t digits = CountDigits(static_cast<std::uint64_t>(events));
  return digits + (digits - 1) / 3 + kEvents.size() + (nanos ? kMaxTimeWidth.size() : 0);
}

std::size_t IdWidth(const BlockId& id) {
  constexpr std::size_t kBitsPerDigit = 4;
  const auto bits = static_cast<std::size_t>(std::bit_width(id.address | 1U));
  return (bits + kBitsPerDigit - 1) / kBitsPerDigit + CountDigits(id.version) + 2;
}

std::string FrameText(std::string_view name, std::string_view file, std::int64_t line) {
  const std::string place = PlaceText(file, line);
  return NameText(name) + (place.empty() ? "" : "  " + place);
}

}  // namespace memtool::commands
