#include "memtool/profile/base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace memtool {
namespace {

TEST(ParseNumber, IsOfTheWholeText) {
  EXPECT_EQ(ParseNumber<std::int64_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseNumber<std::uint64_t>("7f00", 16), 0x7f00U);
  EXPECT_EQ(ParseNumber<double>("1.5"), 1.5);
  for (const std::string_view text :
       {"", "-", "+1", " 1", "1 ", "1.5", "0x1", "9223372036854775808"}) {
    EXPECT_FALSE(ParseNumber<std::int64_t>(text)) << text;
  }
  EXPECT_FALSE(ParseNumber<std::uint32_t>("-1"));
  EXPECT_FALSE(ParseNumber<double>("1.5s"));
}

TEST(TakeNumber, CutsItOff) {
  std::string_view text = "12,x";
  EXPECT_EQ(TakeNumber<int>(text), 12);
  EXPECT_EQ(text, ",x");
  EXPECT_FALSE(TakeNumber<int>(text));
  EXPECT_EQ(text, ",x");
  std::string_view large = "300 ";
  EXPECT_FALSE(TakeNumber<std::uint8_t>(large));
  EXPECT_EQ(large, "300 ");
}

}  // namespace
}  // namespace memtool
