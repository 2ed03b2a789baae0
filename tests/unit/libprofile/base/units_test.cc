#include "memtool/profile/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace memtool {
namespace {

void ExpectConverts(std::int64_t value, std::string_view from, std::string_view to, double wanted,
                    std::string_view unit) {
  const Measured measured = ConvertUnit(value, from, to);
  EXPECT_DOUBLE_EQ(measured.value, wanted) << value << from << " in " << to;
  EXPECT_EQ(measured.unit, unit) << value << from << " in " << to;
}

TEST(Units, ConvertWithinAFamily) {
  ExpectConverts(2048, "bytes", "kb", 2, "kB");
  ExpectConverts(1, "MB", "byte", 1048576, "B");
  ExpectConverts(90, "seconds", "ms", 90000, "ms");
  ExpectConverts(-3, "kb", "B", -3072, "B");
}

TEST(Units, ChooseTheLargestThatKeepsOne) {
  ExpectConverts(1536, "bytes", "auto", 1.5, "kB");
  ExpectConverts(1023, "bytes", "minimum", 1023, "B");
  ExpectConverts(7200, "s", "auto", 2, "hrs");
}

TEST(Units, KeepWhatTheyDoNotKnow) {
  ExpectConverts(7, "widgets", "kb", 7, "kb");
  ExpectConverts(7, "count", "auto", 7, "");
  // A known unit into one of no family: the family's own.
  ExpectConverts(2048, "bytes", "widgets", 2048, "B");
}

TEST(Units, TakeTheEndsOfInt64) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  ExpectConverts(kMin, "bytes", "bytes", -9223372036854775808.0, "B");
}

TEST(Units, HaveFamilies) {
  EXPECT_TRUE(SameUnitFamily("kB", "megabytes"));
  EXPECT_FALSE(SameUnitFamily("bytes", "ms"));
  EXPECT_FALSE(SameUnitFamily("widgets", "widgets"));
}

}  // namespace
}  // namespace memtool
