#include "ascend/csv/csv_values.h"

#include <cmath>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::ascend {

std::optional<std::int64_t> ParseMicroseconds(std::string_view text) {
  constexpr std::int64_t kNanos = 1000;
  const auto whole = TakeNumber<std::int64_t>(text);
  if (!whole || *whole < 0 || *whole >= INT64_MAX / kNanos) {
    return std::nullopt;
  }
  std::int64_t nanos = *whole * kNanos;
  if (text.empty()) {
    return nanos;
  }
  if (text.front() != '.') {
    return std::nullopt;
  }
  std::int64_t digit = kNanos / 10;
  for (const char c : text.substr(1)) {
    if (!IsDigit(c)) {
      return std::nullopt;
    }
    nanos += digit * (c - '0');
    digit /= 10;
  }
  return nanos;
}

bool IsRoundedBySpreadsheet(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  return e != std::string_view::npos && e > 0 && ParseNumber<double>(text).has_value();
}

std::optional<Amount> ParseAmount(std::string_view text, std::int64_t unit) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: doubles hold all smaller whole numbers
  const auto number = ParseNumber<double>(text);
  if (!number) {
    return std::nullopt;
  }
  const double bytes = *number * static_cast<double>(unit);
  if (!(std::fabs(bytes) < kExact)) {
    return std::nullopt;
  }
  const double whole = std::nearbyint(bytes);
  return Amount{.bytes = static_cast<std::int64_t>(whole), .rounded = whole != bytes};
}

std::optional<std::int32_t> ParseDevice(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto ordinal =
      ParseNumber<std::int32_t>(colon == std::string_view::npos ? text : text.substr(colon + 1));
  return ordinal && *ordinal >= 0 ? ordinal : std::nullopt;
}

}  // namespace memtool::formats::ascend
