#include "pprof/measure.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace memtool::commands::pprof {

std::string ScaledLabel(std::int64_t value, std::string_view from, std::string_view to) {
  const Measured measured = ConvertUnit(value, from, to);
  std::string text = fmt::format("{:.2f}", measured.value);
  if (text.ends_with(".00")) {
    text.resize(text.size() - 3);
  }
  return text == "0" || text == "-0" ? "0" : text + measured.unit;
}

std::string Percentage(std::int64_t value, std::int64_t total) {
  const double ratio =
      total == 0 ? 0.0 : std::fabs(static_cast<double>(value) / static_cast<double>(total)) * 100;
  if (ratio >= 99.95 && ratio <= 100.05) {
    return "  100%";
  }
  return ratio >= 1.0 ? fmt::format("{:5.2f}%", ratio) : fmt::format("{:5.2g}%", ratio);
}

std::string TrimmedPercentage(std::int64_t value, std::int64_t total) {
  const std::string text = Percentage(value, total);
  return text.substr(text.find_first_not_of(' '));
}

std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t WrapNegate(std::int64_t value) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
}

std::int64_t Abs(std::int64_t value) {
  return value < 0 ? WrapNegate(value) : value;
}

std::int64_t Quotient(std::int64_t value, std::int64_t divisor) {
  return divisor == -1 ? WrapNegate(value) : value / divisor;
}

std::int64_t ToInt(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return value >= -kEnd && value < kEnd ? static_cast<std::int64_t>(value)
                                        : std::numeric_limits<std::int64_t>::min();
}

}  // namespace memtool::commands::pprof
