// Saturating integer arithmetic for values from input files, so that no file can cause undefined
// behaviour.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace memtool {

// sum += value; saturates at the limits of int64 and sets `saturated`.
constexpr void AddTo(std::int64_t& sum, std::int64_t value, bool& saturated) {
  if (__builtin_add_overflow(sum, value, &sum)) {
    sum = value > 0 ? std::numeric_limits<std::int64_t>::max()
                    : std::numeric_limits<std::int64_t>::min();
    saturated = true;
  }
}

// a + b without overflow; saturates at the limits of int64.
constexpr std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  bool saturated = false;
  AddTo(a, b, saturated);
  return a;
}

// a - b, likewise; also for a b that has no negative.
constexpr std::int64_t SaturatingSubtract(std::int64_t a, std::int64_t b) {
  if (__builtin_sub_overflow(a, b, &a)) {
    return b < 0 ? std::numeric_limits<std::int64_t>::max()
                 : std::numeric_limits<std::int64_t>::min();
  }
  return a;
}

// a · b; saturates at the limits of int64.
constexpr std::int64_t SaturatingMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    product = (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max()
                                 : std::numeric_limits<std::int64_t>::min();
  }
  return product;
}

// Whether a total stands at an end of the range of int64: it was clamped there, and is no figure.
constexpr bool IsClamped(std::int64_t total) {
  return total == std::numeric_limits<std::int64_t>::max() ||
         total == std::numeric_limits<std::int64_t>::min();
}

// total + change, for a total that changes over time: a clamped one stays as it is, because what
// is taken from an end of the range is no figure.
constexpr std::int64_t RunningAdd(std::int64_t total, std::int64_t change) {
  return IsClamped(total) ? total : SaturatingAdd(total, change);
}

// The total, or none when it is clamped: unknown.
constexpr std::optional<std::int64_t> Unclamped(std::int64_t total) {
  return IsClamped(total) ? std::nullopt : std::optional(total);
}

// |value|; the largest int64 for the smallest.
constexpr std::int64_t Magnitude(std::int64_t value) {
  return value < 0 ? SaturatingSubtract(0, value) : value;
}

// Σ|value| without a branch per value: 128 bits as two words.
class MagnitudeSum {
 public:
  constexpr void Add(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = value < 0 ? 0 - bits : bits;
    low_ += magnitude;
    high_ += low_ < magnitude ? 1 : 0;
  }
  [[nodiscard]] constexpr bool Fits() const { return high_ == 0 && low_ <= INT64_MAX; }
  [[nodiscard]] constexpr std::int64_t Clamped() const {
    return Fits() ? static_cast<std::int64_t>(low_) : INT64_MAX;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

// value · factor, rounded; saturates at the limits of int64.
std::int64_t Scaled(std::int64_t value, double factor);

// part / whole; not finite where `whole` is 0.
constexpr double Ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace memtool
