#include "memtool/profile/rows/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "support/make_profile.h"

namespace memtool {
namespace {

using test::Canonical;
using test::ProfileMaker;
using test::RandomProfile;

Recording Merged(const std::vector<MergeInput>& inputs) {
  auto merged = Merge(inputs);
  EXPECT_TRUE(merged.has_value());
  return *std::move(merged);
}

TEST(Merge, AddsEqualSamples) {
  const Recording a = ProfileMaker().Sample("main;f", {1, 10}, "kind=buffer").Finish();
  const Recording b =
      ProfileMaker().Sample("main;g", {1, 3}).Sample("main;f", {2, 30}, "kind=buffer").Finish();
  const Recording both = Merged({{&a, 1}, {&b, 1}});
  EXPECT_EQ(both.profile->size(), 2U);
  EXPECT_THAT(test::Stacks(both), testing::ElementsAre("main;f 40", "main;g 3"));
  EXPECT_THAT(test::Top(both, "function", test::AllFrames(), "allocations"),
              testing::ElementsAre("f 3 3", "g 1 1", "main 0 4"));
}

TEST(Merge, OfAnInputMinusItselfIsEmpty) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Recording a = RandomProfile(seed);
    EXPECT_EQ(Merged({{&a, 1}, {&a, -1}}).profile->size(), 0U) << seed;
  }
}

TEST(Merge, IsAssociativeAndCommutative) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Recording a = RandomProfile(seed);
    const Recording b = RandomProfile(seed + 1000);
    const Recording c = RandomProfile(seed + 2000);
    const Recording ab = Merged({{&a, 1}, {&b, 1}});
    const Recording bc = Merged({{&b, 1}, {&c, 1}});
    const std::string all = Canonical(Merged({{&a, 1}, {&b, 1}, {&c, 1}}));
    EXPECT_EQ(Canonical(Merged({{&ab, 1}, {&c, 1}})), all) << seed;
    EXPECT_EQ(Canonical(Merged({{&a, 1}, {&bc, 1}})), all) << seed;
    EXPECT_EQ(Canonical(Merged({{&c, 1}, {&a, 1}, {&b, 1}})), all) << seed;
  }
}

// One writer's "space" is another's "inuse_space": the only type of bytes of each.
TEST(Merge, MatchesBytesByTheirRole) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording b =
      ProfileMaker(ProfileMaker::Types{{"inuse_space", "bytes"}}).Sample("f", {5}).Finish();
  EXPECT_THAT(test::Stacks(Merged({{&a, 1}, {&b, 1}})), testing::ElementsAre("f 15"));
}

TEST(Merge, LosesNoBytes) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording b = ProfileMaker(ProfileMaker::Types{{"alloc_space", "bytes"},
                                                       {"inuse_space", "bytes"},
                                                       {"allocations", "count"}})
                          .Sample("f", {7, 5, 1})
                          .Finish();
  const auto merged = Merge(std::vector<MergeInput>{{&a, 1}, {&b, 1}});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::kUsage);
  EXPECT_THAT(merged.error().message, testing::HasSubstr("'space' have no counterpart"));
}

TEST(Merge, KeepsOnlyTypesThatAllHave) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording b =
      ProfileMaker(ProfileMaker::Types{{"space", "bytes"}}).Sample("f", {5}).Finish();
  const Recording both = Merged({{&a, 1}, {&b, 1}});
  ASSERT_EQ(both.profile->types.size(), 1U);
  EXPECT_THAT(test::Stacks(both), testing::ElementsAre("f 15"));
}

TEST(Merge, RefusesInputsWithNothingInCommon) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording b =
      ProfileMaker(ProfileMaker::Types{{"cpu", "nanoseconds"}}).Sample("f", {5}).Finish();
  const std::array inputs{MergeInput{&a, 1}, MergeInput{&b, 1}};
  EXPECT_EQ(Merge(inputs).error().code, ErrorCode::kUsage);
  const Recording none = *RecordingBuilder().Finish();
  const std::array without{MergeInput{&a, 1}, MergeInput{&none, 1}};
  EXPECT_EQ(Merge(without).error().code, ErrorCode::kUnsupported);
}

TEST(Merge, RefusesSumsBeyondInt64) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const Recording a = ProfileMaker().Sample("f", {1, kMin}).Finish();
  const Recording none = ProfileMaker().Sample("f", {1, 0}).Finish();
  EXPECT_EQ(Merged({{&none, 1}, {&a, 1}}).profile->values[1][0], kMin);
  for (const auto& inputs : {std::vector<MergeInput>{{&none, 1}, {&a, -1}}, {{&a, 1}, {&a, 1}}}) {
    const auto merged = Merge(inputs);
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, ErrorCode::kLimit);
  }
}

// Every rule other than memtool's.
constexpr MergeRules kOtherRules{.loose_mappings = true,
                                 .columns = false,
                                 .label_order = true,
                                 .only_needed = true,
                                 .unknown_apart = false,
                                 .same_types = true,
                                 .zero_is_time = true,
                                 .wrap = true};

Recording MergedByOtherRules(const std::vector<MergeInput>& inputs) {
  auto merged = Merge(inputs, kOtherRules);
  EXPECT_TRUE(merged.has_value());
  return *std::move(merged);
}

TEST(MergeByOtherRules, KeepsRowsInTheOrderOfFirstNeed) {
  const Recording a = ProfileMaker()
                          .Sample("zero", {0, 0})
                          .Sample("main;g", {1, 3})
                          .Sample("main;f", {2, 5})
                          .Sample("main;g", {1, 4})
                          .Finish();
  const Recording merged = MergedByOtherRules({{&a, 1}});
  ASSERT_EQ(merged.functions.size(), 3U);
  EXPECT_EQ(merged.Text(merged.functions[0].name), "g");
  EXPECT_EQ(merged.Text(merged.functions[1].name), "main");
  EXPECT_EQ(merged.Text(merged.functions[2].name), "f");
  EXPECT_THAT(merged.profile->values[1], testing::ElementsAre(7, 5));
}

TEST(MergeByOtherRules, DropsWhatOnlyCancelledSamplesUsed) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Sample("g", {2, 20}).Finish();
  const Recording b = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording merged = MergedByOtherRules({{&a, 1}, {&b, -1}});
  ASSERT_EQ(merged.functions.size(), 1U);
  EXPECT_THAT(test::Stacks(merged), testing::ElementsAre("g 20"));
}

TEST(MergeByOtherRules, LooksAtTheOrderOfValuesWithinAKeyOnly) {
  const auto merged_size = [](std::string_view labels, std::string_view others) {
    const Recording a =
        ProfileMaker().Sample("f", {1, 10}, labels).Sample("f", {1, 10}, others).Finish();
    return MergedByOtherRules({{&a, 1}}).profile->size();
  };
  EXPECT_EQ(merged_size("k=a d=1", "d=1 k=a"), 1U);
  EXPECT_EQ(merged_size("k=a k=b", "k=b k=a"), 2U);
}

TEST(MergeByOtherRules, WrapsAroundAtTheEndsOfInt64) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const Recording a = ProfileMaker().Sample("f", {1, kMin}).Finish();
  const Recording b = ProfileMaker().Sample("f", {1, -1}).Finish();
  EXPECT_EQ(MergedByOtherRules({{&a, 1}, {&b, 1}}).profile->values[1][0],
            std::numeric_limits<std::int64_t>::max());
}

TEST(MergeByOtherRules, RefusesOtherTypes) {
  const Recording a = ProfileMaker().Sample("f", {1, 10}).Finish();
  const Recording b =
      ProfileMaker(ProfileMaker::Types{{"space", "bytes"}}).Sample("f", {5}).Finish();
  const std::array inputs{MergeInput{&a, 1}, MergeInput{&b, 1}};
  EXPECT_EQ(Merge(inputs, kOtherRules).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace memtool
