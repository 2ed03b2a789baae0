#include "ascend/csv/csv_values.h"

#include <gtest/gtest.h>

#include "ascend/memscope_rows.h"

namespace memtool::formats::ascend {
namespace {

TEST(ParseMicroseconds, KeepsNanoseconds) {
  EXPECT_EQ(ParseMicroseconds("1695115378653323.5"), 1695115378653323500);
  EXPECT_EQ(ParseMicroseconds("1764753083000001.526"), 1764753083000001526);
  EXPECT_EQ(ParseMicroseconds("7"), 7000);
  EXPECT_EQ(ParseMicroseconds("7.12345"), 7123);
  for (const char* text : {"", "-1", "x", "1.69512E+15", "9223372036854775807", "1,5", ".5"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
  EXPECT_TRUE(IsRoundedBySpreadsheet("1.69512E+15"));
  EXPECT_FALSE(IsRoundedBySpreadsheet("1695115378653323.5"));
  EXPECT_FALSE(IsRoundedBySpreadsheet("aten::E"));
}

TEST(ParseAmount, SaysWhetherItWasRounded) {
  constexpr std::int64_t kMega = 1 << 20;
  const auto whole = ParseAmount("4599.74072265625", kMega);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->bytes, 4823177728);
  EXPECT_FALSE(whole->rounded);
  EXPECT_TRUE(ParseAmount("4599.74", kMega)->rounded);
  EXPECT_EQ(ParseAmount("-64", 1024)->bytes, -65536);
  for (const char* text : {"", "x", "1e300", "nan", "inf", "9007199254740993"}) {
    EXPECT_FALSE(ParseAmount(text, kMega)) << text;
  }
}

TEST(FindAttribute, ReadsBothForms) {
  constexpr std::string_view kCsv = "{allocation_id:4,addr:0x12c0,size:512,owner:PTA@ops@aten}";
  EXPECT_EQ(FindAttribute(kCsv, "size"), "512");
  EXPECT_EQ(FindAttribute(kCsv, "owner"), "PTA@ops@aten");
  EXPECT_EQ(FindAttribute(kCsv, "used"), "");
  EXPECT_EQ(FindAttribute(R"({"addr": "4800", "size": "512"})", "addr"), "4800");
  EXPECT_EQ(FindAttribute("{}", "addr"), "");
  EXPECT_EQ(FindAttribute("{size}", "size"), "");
}

TEST(Memscope, ReadsAddressesAndTimesOfAllVersions) {
  EXPECT_EQ(ParsePointer("0x000012c041400000"), 0x12c041400000U);
  EXPECT_EQ(ParsePointer("20068255531008"), 20068255531008U);
  EXPECT_EQ(ParsePointer("N/A"), std::nullopt);
  EXPECT_EQ(ParsePointer("0x"), std::nullopt);
  EXPECT_EQ(ParseMemscopeTime("1764753084425691000"), 1764753084425691000);
  EXPECT_EQ(ParseMemscopeTime("1745840290123456"), 1745840290123456000);
  EXPECT_EQ(ParseMemscopeTime("-1"), std::nullopt);
}

TEST(ParseDevice, FindsTheOrdinal) {
  EXPECT_EQ(ParseDevice("NPU:3"), 3);
  EXPECT_EQ(ParseDevice("0"), 0);
  for (const char* text : {"CPU", "", "NPU:", "N/A", "-1", "host"}) {
    EXPECT_EQ(ParseDevice(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace memtool::formats::ascend
