#include "memtool/profile/base/sizes.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

struct ByteUnit {
  std::string_view name;
  double bytes;
};

constexpr std::array<ByteUnit, 5> kUnits{{{"B", 1.0},
                                          {"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0}}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return lower;
}

// The power of the base that a unit stands for, or -1. `binary` is set by an "i".
int ParsePower(std::string_view text, bool* binary) {
  std::string unit = Lower(text);
  *binary = false;
  if (unit.empty() || unit == "b" || unit == "byte" || unit == "bytes") {
    return 0;
  }
  // "kilobytes", as in labels of profiles.
  for (const std::string_view word : {"kilobyte", "megabyte", "gigabyte", "terabyte"}) {
    if (std::string_view(unit).starts_with(word) &&
        (unit == word || unit.substr(word.size()) == "s")) {
      unit.resize(1);
    }
  }
  constexpr std::string_view kPrefixes = "kmgtp";
  const std::size_t power = kPrefixes.find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  *binary = rest.starts_with('i');
  const bool known = rest.empty() || rest == "b" || rest == "i" || rest == "ib";
  return power == std::string_view::npos || !known ? -1 : static_cast<int>(power) + 1;
}

constexpr unsigned kBitsPerUnit = 10;

// |bytes| in hundredths of 2^shift bytes, rounded; none where it takes more than whole numbers to
// say what a double would be rounded to: between two, or beyond its exact range.
std::optional<std::uint64_t> Hundredths(std::int64_t bytes, unsigned shift) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53U;
  constexpr std::uint64_t kHundred = 100;
  if (bytes <= -kExact || bytes >= kExact) {
    return std::nullopt;
  }
  const auto magnitude = static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes);
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  const std::uint64_t half = (mask >> 1U) + 1;
  const std::uint64_t part = (magnitude & mask) * kHundred;
  if ((part & mask) == half) {
    return std::nullopt;
  }
  return (magnitude >> shift) * kHundred + ((part + half) >> shift);
}

// "-12.05 MiB"
std::string HundredthsText(bool negative, bool sign, std::uint64_t hundredths,
                           std::string_view unit) {
  constexpr std::uint64_t kHundred = 100;
  constexpr std::uint64_t kTen = 10;
  const fmt::format_int whole(hundredths / kHundred);
  const std::uint64_t rest = hundredths % kHundred;
  std::string text(negative ? "-" : sign ? "+" : "");
  text.append(whole.data(), whole.size());
  text += '.';
  text += static_cast<char>('0' + rest / kTen);
  text += static_cast<char>('0' + rest % kTen);
  text += ' ';
  text += unit;
  return text;
}

}  // namespace

Result<std::int64_t> ParseSize(std::string_view text, SizeBase base) {
  const auto bad = [text](std::string_view why) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}' is not a size: {}", text, why),
                "sizes look like 4096, 512MiB, 11GB or 1.5G");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) {
    return bad("it does not begin with a number");
  }
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  bool binary = false;
  const int power = ParsePower(unit, &binary);
  if (power < 0) {
    return bad(fmt::format("'{}' is not a unit", unit));
  }
  std::int64_t whole = 0;
  const auto [whole_end, whole_error] =
      std::from_chars(text.data(), text.data() + text.size(), whole);
  if (power == 0 && whole_error == std::errc{} && whole_end == end) {
    if (whole < 0) {
      return bad("it is negative");
    }
    return whole;  // exact beyond 2^53
  }
  const double factor = std::pow(binary ? 1024.0 : static_cast<double>(base), power);
  const double bytes = std::round(number * factor);
  if (bytes < 0) {
    return bad("it is negative");
  }
  if (bytes >= 9223372036854775808.0) {
    return bad("it is larger than 2^63-1 bytes");
  }
  return static_cast<std::int64_t>(bytes);
}

Result<SizeUnit> ParseSizeUnit(std::string_view text) {
  if (Lower(text) == "auto" || Lower(text) == "minimum") {
    return SizeUnit::kAuto;
  }
  bool binary = false;
  const int power = ParsePower(text, &binary);
  if (text.empty() || power < 0 || power > 4) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}' is not a unit", text),
                "units: auto, B, KiB, MiB, GiB, TiB");
  }
  return static_cast<SizeUnit>(power + 1);
}

SizeUnit UnitFor(std::int64_t bytes) {
  const double magnitude = std::abs(static_cast<double>(bytes));
  std::size_t unit = 0;
  const auto is_enough = [magnitude](std::size_t next) {
    // What two decimals would round up to 1024.00 is shown as 1.00 of the next unit; bytes are not
    // rounded.
    const double least = next > 1 ? kUnits[next - 1].bytes * 1023.995 : kUnits[next].bytes;
    return magnitude >= least;
  };
  while (unit + 1 < kUnits.size() && is_enough(unit + 1)) {
    ++unit;
  }
  return static_cast<SizeUnit>(unit + 1);
}

std::string FormatTotal(std::int64_t bytes) {
  return IsClamped(bytes) ? std::string(kUnknownWord) : FormatSize(bytes);
}

std::string FormatSize(std::int64_t bytes, SizeUnit unit, bool sign) {
  if (unit == SizeUnit::kAuto) {
    unit = UnitFor(bytes);
  }
  const ByteUnit& shown = kUnits[static_cast<std::size_t>(unit) - 1];
  if (shown.bytes == 1.0) {
    return FormatCount(bytes, sign) + " B";
  }
  if (const auto hundredths = Hundredths(bytes, kBitsPerUnit * (static_cast<unsigned>(unit) - 1))) {
    return HundredthsText(bytes < 0, sign, *hundredths, shown.name);
  }
  const double value = static_cast<double>(bytes) / shown.bytes;
  return sign ? fmt::format(FMT_COMPILE("{:+.2f} {}"), value, shown.name)
              : fmt::format(FMT_COMPILE("{:.2f} {}"), value, shown.name);
}

std::string FormatCount(std::int64_t count, bool sign) {
  constexpr std::size_t kGroup = 3;
  const fmt::format_int digits(count);
  std::string_view rest(digits.data(), digits.size());
  rest.remove_prefix(count < 0 ? 1 : 0);
  std::array<char, 32> text{};  // of which 64 bits need 26
  char* const end = text.data() + text.size();
  char* begin = end;
  for (std::size_t i = rest.size(); i > 0; --i) {
    if (i < rest.size() && (rest.size() - i) % kGroup == 0) {
      *--begin = ',';
    }
    *--begin = rest[i - 1];
  }
  if (count < 0 || (sign && count > 0)) {
    *--begin = count < 0 ? '-' : '+';
  }
  return {begin, end};
}

}  // namespace memtool
