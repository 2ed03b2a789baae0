#include "memtool/profile/model/long_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "memtool/profile/model/recording_builder.h"

namespace memtool {
namespace {

constexpr std::size_t kLongName = std::size_t{1} << 20U;

// `count` samples of one stack of functions with these names.
Recording RepeatStack(const std::vector<std::string>& names, std::size_t count) {
  RecordingBuilder builder;
  std::vector<LocationId> locations;
  for (const std::string& name : names) {
    const FunctionId function = builder.AddFunction({.name = builder.Intern(name),
                                                     .system_name = builder.Intern(name),
                                                     .filename = builder.Intern("f.py"),
                                                     .start_line = 1});
    const std::array lines{Line{function, 3, 0}};
    locations.push_back(builder.AddLocation({}, lines));
  }
  const StackId stack = builder.AddStack(locations);
  const LabelSetId labels = builder.InternLabels({});
  builder.StartProfile({{builder.Intern("space"), builder.Intern("bytes"), Role::kBytes}},
                       builder.Intern(""));
  for (std::size_t i = 0; i < count; ++i) {
    const std::array<std::int64_t, 1> values{1};
    builder.AddSample(stack, labels, values);
  }
  return *std::move(builder).Finish();
}

std::vector<std::string> FunctionNames(const Recording& recording) {
  std::vector<std::string> names;
  for (const Function& function : recording.functions) {
    names.emplace_back(recording.Text(function.name));
  }
  return names;
}

TEST(LongTexts, FewRowsKeepTheirNames) {
  const std::string name(kLongName, 'f');
  Recording recording = RepeatStack({name, "g"}, 15);  // 15 MiB of 8 MiB + 8 times 1 MiB
  AbridgeLongTexts(recording);
  EXPECT_THAT(FunctionNames(recording), testing::ElementsAre(name, "g"));
  EXPECT_TRUE(recording.diagnostics.empty());
}

TEST(LongTexts, ManyRowsHaveTheTwoEndsOfThem) {
  // Four that have the same ends, and one as long as a name may be.
  const std::string middle(kLongName / 4, 'm');
  const std::string usual(4096, 'u');
  std::vector<std::string> names;
  for (const char c : std::string("abcd")) {
    names.push_back("begin" + middle + c + middle + "end");
  }
  names.push_back(usual);
  Recording recording = RepeatStack(names, 1000);
  AbridgeLongTexts(recording);
  const auto shown = FunctionNames(recording);
  ASSERT_EQ(shown.size(), 5);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(shown[i], testing::StartsWith("beginmmm"));
    EXPECT_THAT(shown[i], testing::HasSubstr("mmmend"));
    EXPECT_LT(shown[i].size(), 2000);
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_NE(shown[i], shown[k]);
    }
  }
  EXPECT_EQ(shown[4], usual);
  ASSERT_EQ(recording.diagnostics.size(), 1);
  EXPECT_EQ(recording.diagnostics[0].code, "long_names");
  EXPECT_EQ(recording.diagnostics[0].count, 4);
}

}  // namespace
}  // namespace memtool
