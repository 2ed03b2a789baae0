#include "output/number_widths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "memtool/profile/base/sizes.h"
#include "output/writers.h"

namespace memtool::commands {
namespace {

Cell RandomNumber(std::mt19937_64& random) {
  auto value = static_cast<std::int64_t>(random() >> (random() % 64));
  value = random() % 4 == 0 ? -(value / 2) : value;
  if (random() % 8 == 0) {  // around a power of ten of some unit
    std::int64_t power = 1;
    for (std::uint64_t i = random() % 5; i > 0; --i) {
      power *= 10;
    }
    value = (power << (10 * (random() % 4))) + static_cast<std::int64_t>(random() % 9) - 4;
  }
  return random() % 2 == 0 ? Cell(value) : Cell(Amount{.value = value, .bytes = random() % 3 != 0});
}

// The widest of all is the widest of those that may widen.
TEST(NumberWidths, OnlyLeavesOutWhatIsNotWider) {
  std::mt19937_64 random(3);
  for (int column = 0; column < 3'000; ++column) {
    const auto unit = static_cast<SizeUnit>(random() % 6);
    NumberWidths widths;
    std::size_t measured = 0;
    for (int row = 0; row < 60; ++row) {
      const Cell cell = RandomNumber(random);
      const std::size_t width = CellText(cell, unit).size();
      if (widths.MayWiden(cell, unit)) {
        measured = std::max(measured, width);
      }
      ASSERT_LE(width, measured) << CellText(cell, unit);
    }
  }
}

TEST(NumberWidths, KnowsWhatItHasSeen) {
  NumberWidths widths;
  EXPECT_TRUE(widths.MayWiden(std::int64_t{42}, SizeUnit::kAuto));
  EXPECT_FALSE(widths.MayWiden(std::int64_t{99}, SizeUnit::kAuto));
  EXPECT_TRUE(widths.MayWiden(std::int64_t{100}, SizeUnit::kAuto));
  EXPECT_TRUE(widths.MayWiden(std::int64_t{-1}, SizeUnit::kAuto));
  EXPECT_TRUE(widths.MayWiden(Amount{.value = 5 << 20}, SizeUnit::kAuto));
  EXPECT_FALSE(widths.MayWiden(Amount{.value = 8 << 20}, SizeUnit::kAuto));
  EXPECT_TRUE(widths.MayWiden(std::string("name"), SizeUnit::kAuto));
  EXPECT_TRUE(widths.MayWiden(std::string("name"), SizeUnit::kAuto));
}

}  // namespace
}  // namespace memtool::commands
