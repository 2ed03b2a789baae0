#include "output/number_widths.h"

#include <algorithm>

namespace memtool::commands {

namespace {

constexpr unsigned kBitsPerUnit = 10;

std::uint64_t ComputeMagnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

// The first number with more digits.
std::uint64_t PowerAbove(std::uint64_t number) {
  constexpr std::uint64_t kBase = 10;
  constexpr std::uint64_t kHighest = 10'000'000'000'000'000'000U;
  std::uint64_t power = kBase;
  while (power <= number && power < kHighest) {
    power *= kBase;
  }
  return power;
}

}  // namespace

bool NumberWidths::MayWiden(const Cell& cell, SizeUnit unit) {
  Amount amount;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) {
    amount = {.value = *count, .bytes = false};
  } else if (const auto* own = std::get_if<Amount>(&cell)) {
    amount = *own;
  } else {
    return true;
  }
  if (unit == SizeUnit::kAuto) {
    unit = UnitFor(amount.value);
  }
  const std::size_t form = amount.bytes ? static_cast<std::size_t>(unit) : 0;
  const std::uint64_t magnitude = ComputeMagnitude(amount.value);
  std::uint64_t& below = below_[form][amount.sign ? 2 : amount.value < 0 ? 1 : 0];
  if (magnitude < below) {
    return false;
  }
  if (form <= 1) {
    below = PowerAbove(magnitude);
  } else {
    // With decimals: what rounding may lift to one more digit stays out.
    const unsigned shift = kBitsPerUnit * static_cast<unsigned>(form - 1);
    below = std::max(below, (PowerAbove(magnitude >> shift) - 1) << shift);
  }
  return true;
}

}  // namespace memtool::commands
