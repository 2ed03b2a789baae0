#include "memtool/profile/ranks/first_oom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace memtool {
namespace {

constexpr std::int64_t kNanosecondsOfSecond = 1'000'000'000;
constexpr std::int64_t kFirstTime = 1'700'000'000 * kNanosecondsOfSecond;
using RankNumbers = std::vector<std::int64_t>;

RankOom At(std::int64_t rank, std::int64_t after, std::int64_t requested_bytes = 100) {
  return {.rank = rank,
          .time = kFirstTime + after,
          .requested_bytes = requested_bytes,
          .free = rank,
          .where = 7};
}

TEST(OrderOoms, SaysWhoWasFirstAndHowLongBefore) {
  const std::vector<RankOom> all{At(5, 42 * kNanosecondsOfSecond / 10), At(2, 0),
                                 At(7, 5 * kNanosecondsOfSecond)};
  const OomSequence found = OrderOoms(all);
  EXPECT_EQ(found.first_rank, 2);
  EXPECT_EQ(found.before_next, 42 * kNanosecondsOfSecond / 10);
  EXPECT_EQ(found.at_first, RankNumbers{2});
  ASSERT_EQ(found.groups.size(), 2);
  EXPECT_EQ(found.groups[0].ranks, RankNumbers{2});
  EXPECT_TRUE(found.groups[0].with_first);
  EXPECT_EQ(found.groups[1].ranks, (RankNumbers{5, 7}));
  EXPECT_EQ(found.groups[1].after_first, 42 * kNanosecondsOfSecond / 10);
  EXPECT_EQ(found.groups[1].last, kFirstTime + 5 * kNanosecondsOfSecond);
  EXPECT_EQ(found.groups[1].min_free, 5);
  EXPECT_EQ(found.groups[1].max_free, 7);
}

TEST(OrderOoms, CallsLessThanATenthOfASecondTheSameTime) {
  const OomSequence close = OrderOoms(std::vector{At(1, kSameTime - 1), At(0, 0)});
  EXPECT_EQ(close.at_first, (RankNumbers{0, 1}));
  EXPECT_EQ(close.before_next, kSameTime - 1);
  EXPECT_EQ(OrderOoms(std::vector{At(1, kSameTime), At(0, 0)}).at_first, RankNumbers{0});
}

TEST(OrderOoms, FoldsOnlyWhatIsEqual) {
  const OomSequence found =
      OrderOoms(std::vector{At(0, 0), At(1, kNanosecondsOfSecond, 200), At(2, kNanosecondsOfSecond),
                            At(2, 2 * kNanosecondsOfSecond), At(3, 3 * kNanosecondsOfSecond, 200)});
  ASSERT_EQ(found.groups.size(), 3);
  EXPECT_EQ(found.groups[1].ranks, (RankNumbers{1, 3}));
  EXPECT_EQ(found.groups[2].ranks, RankNumbers{2});
  EXPECT_EQ(found.groups[2].failures, 2);
}

// One rank that fails again and again has nobody behind it.
TEST(OrderOoms, KnowsNoNextOfOneRank) {
  const OomSequence found = OrderOoms(std::vector{At(3, 0), At(3, kNanosecondsOfSecond)});
  EXPECT_EQ(found.first_rank, 3);
  EXPECT_FALSE(found.before_next);
}

TEST(OrderOoms, PutsWhatHasNoTimeLast) {
  std::vector<RankOom> all{At(0, 0), At(1, 0), At(2, 0)};
  all[0].time.reset();
  all[2].time.reset();
  const OomSequence found = OrderOoms(all);
  EXPECT_EQ(found.first_rank, 1);
  EXPECT_EQ(found.without_time, 2);
  EXPECT_EQ(found.groups[1].ranks, (RankNumbers{0, 2}));
  EXPECT_FALSE(found.groups[1].after_first);
  all.erase(all.begin() + 1);
  EXPECT_FALSE(OrderOoms(all).first_rank);
  EXPECT_TRUE(OrderOoms({}).groups.empty());
}

TEST(OrderOoms, SurvivesAnyTimes) {
  std::vector<RankOom> all{At(0, 0), At(1, 0)};
  all[0].time = INT64_MIN;
  all[1].time = INT64_MAX;
  EXPECT_EQ(OrderOoms(all).before_next, INT64_MAX);
}

TEST(OrderOoms, IsTheSameInAnyOrder) {
  std::mt19937 random(3);
  std::vector<RankOom> all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(At(random() % 20,
                     static_cast<std::int64_t>(random() % 5) * kNanosecondsOfSecond / 20,
                     static_cast<std::int64_t>(random() % 3)));
  }
  const OomSequence before = OrderOoms(all);
  for (int round = 0; round < 100; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    const OomSequence found = OrderOoms(all);
    ASSERT_EQ(found.at_first, before.at_first);
    ASSERT_EQ(found.groups.size(), before.groups.size());
    for (std::size_t i = 0; i < before.groups.size(); ++i) {
      ASSERT_EQ(found.groups[i].ranks, before.groups[i].ranks);
    }
  }
}

}  // namespace
}  // namespace memtool
