#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "pprof/edits.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {
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

TEST(TagRange, MatchesNumbersInTheUnitOfTheirKey) {
  const LabelUnits units{{"size", "bytes"}, {"time", "ms"}};
  const auto holds = [&units](std::string_view range, std::string_view key, std::int64_t number) {
    const NumberTest test = ReadTagRange(range, units);
    return test && test(key, number);
  };
  EXPECT_TRUE(holds("1kb:", "size", 1024));
  EXPECT_FALSE(holds("1kb:", "size", 1023));
  EXPECT_TRUE(holds(":100b", "size", 100));
  EXPECT_TRUE(holds("1kb:2kb", "size", 2048));
  EXPECT_FALSE(holds("1kb:2kb", "time", 2048));
  for (const char* text : {"", "x", "1kb:2ms", "kind", "1kb:2kb:3kb", "99999999999999999999"}) {
    EXPECT_FALSE(ReadTagRange(text, units)) << text;
  }
}

}  // namespace
}  // namespace memtool::commands::pprof
