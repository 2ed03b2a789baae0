#include "memtool/profile/base/sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string_view>

namespace memtool {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(ParseSize, ReadsWhatPeopleWrite) {
  struct Case {
    std::string_view text;
    std::int64_t bytes;
  };
  for (const auto& [text, bytes] : {
           Case{"0", 0},
           {"4096", 4096},
           {"1B", 1},
           {"7 bytes", 7},
           {"1 byte", 1},
           {"1b", 1},
           {"1K", 1024},
           {"1k", 1024},
           {"1KB", 1024},
           {"1kB", 1024},
           {"1KiB", 1024},
           {"1Ki", 1024},
           {"1kilobyte", 1024},
           {"2 Megabytes", 2 << 20},
           {"1gigabytes", 1 << 30},
           {"2M", 2 << 20},
           {"2MB", 2 << 20},
           {"1.5 GiB", 3LL << 29},
           {"11GB", 11811160064},
           {"1T", 1LL << 40},
           {"1TiB", 1LL << 40},
           {"1PB", 1LL << 50},
           {"0.5K", 512},
           {"0.1K", 102},
           {"1e3", 1000},
           {"1e3K", 1024000},
           {"1   MiB", 1 << 20},
           // Exact where a double is not.
           {"9007199254740993", 9007199254740993},
           {"9223372036854775807", kMax},
       }) {
    const auto size = ParseSize(text);
    ASSERT_TRUE(size.has_value()) << text << ": " << size.error().message;
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(ParseSize, SiUnitsArePowersOf1000UnlessBinaryIsAskedFor) {
  EXPECT_EQ(*ParseSize("11GB", SizeBase::kSi), 11'000'000'000);
  EXPECT_EQ(*ParseSize("1k", SizeBase::kSi), 1000);
  EXPECT_EQ(*ParseSize("1.5T", SizeBase::kSi), 1'500'000'000'000);
  EXPECT_EQ(*ParseSize("1GiB", SizeBase::kSi), 1 << 30);
  EXPECT_EQ(*ParseSize("1Gi", SizeBase::kSi), 1 << 30);
}

TEST(ParseSize, RefusesTheRest) {
  for (const std::string_view text :
       {"",         " ",     "B",           "GB",           "-1",    "-1K", "1X",
        "1 XB",     "1KBB",  "1.2.3",       "1,5K",         "nan",   "inf", "0x10",
        "1K ",      "+1",    "1kilobytesx", "1 kilobytess", "1e400", "K1",  "9223372036854775808",
        "8388608T", "8192P", "1e19"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.has_value()) << "'" << text << "' became " << *size;
    EXPECT_EQ(size.error().code, ErrorCode::kUsage) << text;
    EXPECT_THAT(size.error().message, testing::HasSubstr("is not a size"));
  }
}

TEST(ParseSizeUnit, KnowsItsNames) {
  EXPECT_EQ(*ParseSizeUnit("auto"), SizeUnit::kAuto);
  EXPECT_EQ(*ParseSizeUnit("AUTO"), SizeUnit::kAuto);
  EXPECT_EQ(*ParseSizeUnit("B"), SizeUnit::kB);
  EXPECT_EQ(*ParseSizeUnit("kb"), SizeUnit::kKiB);
  EXPECT_EQ(*ParseSizeUnit("MiB"), SizeUnit::kMiB);
  EXPECT_EQ(*ParseSizeUnit("g"), SizeUnit::kGiB);
  EXPECT_EQ(*ParseSizeUnit("TiB"), SizeUnit::kTiB);
  for (const std::string_view text : {"", "PiB", "parsec", "1K", "MiBB"}) {
    EXPECT_FALSE(ParseSizeUnit(text).has_value()) << text;
  }
}

TEST(FormatSize, PicksAUnit) {
  struct Case {
    std::int64_t bytes;
    std::string_view text;
  };
  for (const auto& [bytes, text] : {Case{0, "0 B"},
                                    {1, "1 B"},
                                    {1023, "1,023 B"},
                                    {1024, "1.00 KiB"},
                                    {-1024, "-1.00 KiB"},
                                    {80002728, "76.30 MiB"},
                                    {40002080, "38.15 MiB"},
                                    {1LL << 30, "1.00 GiB"},
                                    {5LL << 40, "5.00 TiB"},
                                    {kMax, "8388608.00 TiB"},
                                    {kMin, "-8388608.00 TiB"}}) {
    EXPECT_EQ(FormatSize(bytes), text);
  }
}

TEST(FormatSize, RoundingNeverMakesAThousandAndTwentyFour) {
  for (const std::int64_t unit :
       {std::int64_t{1} << 20U, std::int64_t{1} << 30U, std::int64_t{1} << 40U}) {
    EXPECT_TRUE(FormatSize(unit - 1).starts_with("1.00 ")) << FormatSize(unit - 1);
    EXPECT_TRUE(FormatSize(1 - unit).starts_with("-1.00 ")) << FormatSize(1 - unit);
    const std::int64_t below = unit - unit / 1024 / 128;  // 1023.992
    EXPECT_TRUE(FormatSize(below).starts_with("1023.99 ")) << FormatSize(below);
  }
  EXPECT_EQ(FormatSize(1023), "1,023 B");
}

TEST(FormatSize, KeepsAFixedUnitAndASign) {
  EXPECT_EQ(FormatSize(4'000'000, SizeUnit::kKiB), "3906.25 KiB");
  EXPECT_EQ(FormatSize(4'000'000, SizeUnit::kB), "4,000,000 B");
  EXPECT_EQ(FormatSize(1024, SizeUnit::kAuto, true), "+1.00 KiB");
  EXPECT_EQ(FormatSize(5, SizeUnit::kAuto, true), "+5 B");
  EXPECT_EQ(FormatSize(0, SizeUnit::kAuto, true), "0 B");
  EXPECT_EQ(FormatSize(-5, SizeUnit::kAuto, true), "-5 B");
}

TEST(FormatCount, GroupsDigitsOfAnyNumber) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
  EXPECT_EQ(FormatCount(-123456), "-123,456");
  EXPECT_EQ(FormatCount(kMin), "-9,223,372,036,854,775,808");
  EXPECT_EQ(FormatCount(1234, true), "+1,234");
  EXPECT_EQ(FormatCount(0, true), "0");
}

// Sizes are written in whole numbers where those say the same; doubles say what is right.
TEST(FormatSize, IsWhatADoubleWouldBeRoundedTo) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  std::mt19937_64 random(7);
  for (int round = 0; round < 200'000; ++round) {
    const std::size_t unit = 1 + random() % 4;
    auto bytes = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    if (round % 4 == 0) {  // between two hundredths, and beside
      bytes = (bytes % 100'000 * 2 + 1) * ((std::int64_t{1} << (10 * unit)) / 200) +
              static_cast<std::int64_t>(random() % 3) - 1;
    }
    bytes = round % 3 == 0 ? -bytes : bytes;
    const double value =
        static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << (10 * unit));
    const auto shown = static_cast<SizeUnit>(unit + 1);
    EXPECT_EQ(FormatSize(bytes, shown), fmt::format("{:.2f} {}", value, kNames[unit])) << bytes;
    EXPECT_EQ(FormatSize(bytes, shown, true), fmt::format("{:+.2f} {}", value, kNames[unit]))
        << bytes;
  }
}

TEST(FormatCount, GroupsTheDigitsOfExtremes) {
  EXPECT_EQ(FormatCount(kMin), "-9,223,372,036,854,775,808");
  EXPECT_EQ(FormatCount(kMax, true), "+9,223,372,036,854,775,807");
  EXPECT_EQ(FormatCount(-100), "-100");
  EXPECT_EQ(FormatCount(-1000, true), "-1,000");
  EXPECT_EQ(FormatCount(0, true), "0");
}

}  // namespace
}  // namespace memtool
