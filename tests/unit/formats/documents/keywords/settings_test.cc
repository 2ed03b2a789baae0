#include "memtool/formats/settings.h"

#include <gtest/gtest.h>

namespace memtool::formats {
namespace {

TEST(Settings, AreOptionsOfAllCommandsOrOfOne) {
  const auto settings =
      ParseSettings("theme: dark\nown: [mine, \"a b\"]\ntop:\n  columns: flat,where\n  unit: GiB\n",
                    "config.yaml");
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->size(), 4U);
  EXPECT_EQ((*settings)[0].option, "theme");
  EXPECT_EQ((*settings)[0].values, std::vector<std::string>{"dark"});
  EXPECT_EQ((*settings)[1].values, (std::vector<std::string>{"mine", "a b"}));
  EXPECT_EQ((*settings)[1].command, "");
  EXPECT_EQ((*settings)[2].command, "top");
  EXPECT_EQ((*settings)[2].values, std::vector<std::string>{"flat,where"});
  EXPECT_EQ((*settings)[3].place, "5:3");
}

TEST(Settings, SayWhereTheyAreWrong) {
  for (const char* wrong : {"- theme\n", "dark\n", "top:\n  columns:\n    a: b\n", "theme: *x\n"}) {
    const auto settings = ParseSettings(wrong, "config.yaml");
    ASSERT_FALSE(settings) << wrong;
    EXPECT_TRUE(settings.error().input.starts_with("config.yaml:")) << settings.error().input;
    EXPECT_EQ(settings.error().code, ErrorCode::kMalformed);
  }
}

}  // namespace
}  // namespace memtool::formats
