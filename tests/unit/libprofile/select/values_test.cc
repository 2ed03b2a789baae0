#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Saturating, SticksAtTheEnds) {
  EXPECT_EQ(SaturatingAdd(kMax, 1), kMax);
  EXPECT_EQ(SaturatingAdd(kMin, -1), kMin);
  EXPECT_EQ(SaturatingAdd(kMax, kMin), -1);
  EXPECT_EQ(SaturatingSubtract(0, kMin), kMax);
  EXPECT_EQ(SaturatingSubtract(-1, kMin), kMax);
  EXPECT_EQ(SaturatingSubtract(kMin, 1), kMin);
  EXPECT_EQ(SaturatingSubtract(kMax, -1), kMax);
  EXPECT_EQ(SaturatingSubtract(5, 7), -2);
  EXPECT_EQ(Magnitude(kMin), kMax);
  EXPECT_EQ(Magnitude(-3), 3);
  EXPECT_EQ(Scaled(kMax, 2.0), kMax);
  EXPECT_EQ(Scaled(kMin, 2.0), kMin);
  EXPECT_EQ(Scaled(3, 0.5), 2);
  EXPECT_EQ(Scaled(-3, 0.5), -2);
  EXPECT_EQ(Scaled(1, std::numeric_limits<double>::quiet_NaN()), 0);
}

std::string Chosen(const test::ProfileMaker::Types& types, std::string_view wanted,
                   std::string_view default_type = "") {
  const Recording recording = test::ProfileMaker(types, default_type).Finish();
  const auto choice = ChooseValue(recording, wanted);
  return choice ? choice->name : "error: " + choice.error().message;
}

TEST(ChooseValue, PrefersBytes) {
  const test::ProfileMaker::Types go{{"alloc_objects", "count"},
                                     {"alloc_space", "bytes"},
                                     {"inuse_objects", "count"},
                                     {"inuse_space", "bytes"}};
  EXPECT_EQ(Chosen({{"allocations", "count"}, {"space", "bytes"}}, ""), "space");
  EXPECT_EQ(Chosen({{"space", "bytes"}, {"allocations", "count"}}, ""), "space");
  EXPECT_EQ(Chosen(go, ""), "inuse_space");
  EXPECT_EQ(Chosen(go, "", "alloc_space"), "alloc_space");
  EXPECT_EQ(Chosen(go, "", "alloc_objects"), "inuse_space");  // never a count where bytes exist
  EXPECT_EQ(Chosen(go, "", "nosuch"), "inuse_space");
  EXPECT_EQ(Chosen({{"samples", "count"}, {"cpu", "nanoseconds"}}, ""), "cpu");
  EXPECT_EQ(Chosen({{"samples", "count"}, {"cpu", "nanoseconds"}}, "", "samples"),
            "cpu");  // a default counts only where it names bytes
}

TEST(ChooseValue, HonoursADefaultOfRequestedBytes) {
  const test::ProfileMaker::Types types{{"requested", "bytes"}, {"space", "bytes"}};
  EXPECT_EQ(Chosen(types, ""), "space");
  EXPECT_EQ(Chosen(types, "", "requested"), "requested");
  EXPECT_EQ(Chosen({{"allocations", "count"}, {"requested", "bytes"}}, ""), "requested");
}

TEST(ChooseValue, TakesNamesAndNumbers) {
  const test::ProfileMaker::Types types{{"allocations", "count"}, {"space", "bytes"}};
  EXPECT_EQ(Chosen(types, "allocations"), "allocations");
  EXPECT_EQ(Chosen(types, "0"), "allocations");
  EXPECT_EQ(Chosen(types, "1"), "space");
  EXPECT_EQ(Chosen(types, "inuse_space"), "space");
  EXPECT_EQ(Chosen(types, "2"), "error: there is no sample type '2'");
  EXPECT_EQ(Chosen(types, "zz"), "error: there is no sample type 'zz'");
  EXPECT_EQ(Chosen({}, ""), "error: the profile declares no sample type");
}

TEST(ChooseValue, NeedsAProfile) {
  RecordingBuilder builder;
  const auto recording = std::move(builder).Finish();
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(ChooseValue(*recording, "").error().code, ErrorCode::kUnsupported);
}

TEST(MatchValue, MatchesByNameThenRole) {
  const Recording jax = test::ProfileMaker().Finish();
  const Recording go = test::ProfileMaker(test::ProfileMaker::Types{{"inuse_objects", "count"},
                                                                    {"inuse_space", "bytes"}})
                           .Finish();
  const Recording cpu =
      test::ProfileMaker(test::ProfileMaker::Types{{"cpu", "nanoseconds"}}).Finish();
  const auto space = ChooseValue(jax, "");
  ASSERT_TRUE(space.has_value());
  EXPECT_EQ(MatchValue(go, *space)->name, "inuse_space");
  EXPECT_EQ(MatchValue(cpu, *space).error().code, ErrorCode::kUsage);
}

TEST(SumByStack, SaysWhenASumSticks) {
  const Recording recording = test::ProfileMaker()
                                  .Sample("a", {1, kMax})
                                  .Sample("a", {1, kMax})
                                  .Sample("b", {kMin, kMin})
                                  .Finish();
  const Filter filter;
  const View view(recording, filter);
  const StackSums sums = SumByStack(view, *ChooseValue(recording, ""));
  EXPECT_TRUE(sums.saturated);
  ASSERT_EQ(sums.rows.size(), 2U);
  EXPECT_EQ(sums.rows[0].value, kMax);
  EXPECT_EQ(sums.rows[1].value, kMin);
  EXPECT_THAT(test::Top(recording), testing::SizeIs(2));
  EXPECT_THAT(test::Top(recording, "size"), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace memtool
