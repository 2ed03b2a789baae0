#include "memtool/profile/base/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace memtool {
namespace {

TEST(StringTable, BeginsWithTheEmptyString) {
  StringTable table;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table[StringId(std::uint32_t{0})], "");
  EXPECT_EQ(table.Intern("").value(), 0U);
  EXPECT_EQ(table.Find("").value(), 0U);
}

TEST(StringTable, GivesDenseIdsInOrderAndFindsThemAgain) {
  StringTable table;
  EXPECT_EQ(table.Intern("a").value(), 1U);
  EXPECT_EQ(table.Intern("b").value(), 2U);
  EXPECT_EQ(table.Intern("a").value(), 1U);
  EXPECT_EQ(table.Find("b").value(), 2U);
  EXPECT_FALSE(table.Find("c").valid());
  EXPECT_EQ(table.size(), 3U);
}

TEST(StringTable, KeepsBytesThatAreNoText) {
  StringTable table;
  const std::string nul("a\0b", 3);
  const std::string longer("a\0b\0", 4);
  const StringId first = table.Intern(nul);
  const StringId second = table.Intern(longer);
  const StringId plain = table.Intern("a");
  EXPECT_NE(first, second);
  EXPECT_NE(first, plain);
  EXPECT_EQ(table[first], nul);
  EXPECT_EQ(table[second], longer);
  EXPECT_NE(table.Intern("\xff"), table.Intern("\xfe"));
}

TEST(StringTable, SurvivesGrowth) {
  StringTable table;
  constexpr std::uint32_t kStrings = 200'000;
  for (std::uint32_t i = 0; i < kStrings; ++i) {
    ASSERT_EQ(table.Intern("name" + std::to_string(i)).value(), i + 1);
  }
  const std::string large(3 << 20, 'x');
  const StringId last = table.Intern(large);
  EXPECT_EQ(table[last], large);
  for (std::uint32_t i = 0; i < kStrings; ++i) {
    const std::string text = "name" + std::to_string(i);
    ASSERT_EQ(table.Find(text).value(), i + 1);
    ASSERT_EQ(table[StringId(i + 1)], text);
  }
  EXPECT_EQ(table.size(), kStrings + 2);
}

}  // namespace
}  // namespace memtool
