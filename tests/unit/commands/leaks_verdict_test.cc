// What memtool leaks says about series whose truth is known.
#include "leaks/leaks_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace memtool::commands {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
constexpr std::int64_t kMiB = 1 << 20;

struct Row {
  std::string name;
  std::vector<double> mib;
  std::optional<Retained> retained = {};
};

std::vector<std::string> Verdict(const std::vector<Row>& rows, std::int64_t capacity_mib = 0,
                                 bool one_iteration = false) {
  GrowthSeries series;
  series.few_iterations = one_iteration;
  for (std::size_t i = 0; i < rows.front().mib.size(); ++i) {
    GrowthPoint& point = series.points.emplace_back();
    point.name = "s" + std::to_string(i + 1);
    for (const Row& row : rows) {
      point.total += static_cast<std::int64_t>(row.mib[i] * kMiB);
    }
  }
  for (const Row& row : rows) {
    GrowthRow& to = series.rows.emplace_back();
    to.name = row.name;
    to.retained = row.retained;
    for (const double mib : row.mib) {
      to.series.push_back(static_cast<std::int64_t>(mib * kMiB));
    }
  }
  JudgeAndSort(series);
  LeaksQuery query;
  if (capacity_mib > 0) {
    query.capacity = capacity_mib * kMiB;
  }
  return LeaksVerdict(
      LeaksOfSeries(std::move(series), {.question = "leaks", .unit = "bytes"}, query));
}

TEST(LeaksVerdict, FewPointsAreMaybe) {
  EXPECT_THAT(
      Verdict({{"w", {100, 101, 103}}}),
      ElementsAre("maybe growing: 1 row rises at both of 2 steps, +1.50 MiB per step: w; 3 "
                  "points are too few to tell growth from chance: 1 of 6 series without a trend "
                  "rises as much"));
  EXPECT_THAT(
      Verdict({{"w", {1, 2, 3, 4}}}),
      ElementsAre(HasSubstr("rises at every one of 3 steps, +1.00 MiB per step: w; 4 points are "
                            "too few to tell growth from chance: 1 of 24 series")));
  EXPECT_THAT(Verdict({{"w", {1, 2, 3, 4, 5}}}),
              ElementsAre("GROWING: 1 row grows at every one of 4 steps, +1.00 MiB per step: w"));
  EXPECT_THAT(Verdict({{"w", {1, 2}}}), ElementsAre(StartsWith("one step shows a difference")));
}

TEST(LeaksVerdict, WhatIsFreedLaterDoesNotGrow) {
  EXPECT_THAT(Verdict({{"w", {1, 2, 3, 4, 5}, Retained{}}}),
              ElementsAre("no row keeps growing over the 4 steps",
                          "1 row rises at every one of 4 steps, +1.00 MiB per step, but keeps "
                          "nothing: what the steps allocated is all freed later: w"));
}

TEST(LeaksVerdict, ManyRowsThatRiseAndFallAreDoubt) {
  std::vector<Row> rows{{"w", {1, 2, 3, 4, 5}}};
  for (int i = 0; i < 9; ++i) {
    rows.push_back({"n" + std::to_string(i), {5, 3, 5, 3, 5}});
  }
  EXPECT_THAT(
      Verdict(rows),
      ElementsAre("maybe growing: 1 row rises at every one of 4 steps, +1.00 MiB per step: "
                  "w; 5 points are too few to tell growth from chance among 9 rows that rise and "
                  "fall: 1 of 120 series without a trend rises as much"));
  // Those keep nothing; this row does.
  for (Row& row : rows) {
    row.retained = Retained{};
  }
  rows.front().retained = Retained{.bytes = 5, .steps = 5, .early_steps = 4};
  EXPECT_THAT(Verdict(rows), ElementsAre(StartsWith("GROWING: 1 row grows at every one")));
}

TEST(LeaksVerdict, GrowthUnderACycleIsFound) {
  std::vector<double> leaky;
  std::vector<double> even;
  for (int i = 0; i < 20; ++i) {
    leaky.push_back(500 + 20 * i + 200 * (i % 4));
    even.push_back(500 + 200 * (i % 4));
  }
  EXPECT_THAT(Verdict({{"w", leaky}}),
              ElementsAre("GROWING: 1 row grows on the whole, with ups and downs, +27.52 MiB per "
                          "step: w; less than 1 of 10,000 series without a trend rises as much"));
  EXPECT_THAT(Verdict({{"w", even}}), ElementsAre("no row keeps growing over the 19 steps"));
}

TEST(LeaksVerdict, PartsOfOneIterationAreNotGrowing) {
  const std::vector<double> rises{1, 2, 3, 4, 5, 6};
  EXPECT_THAT(Verdict({{"AccumulateGrad::apply", rises}}, 0, true),
              ElementsAre("one iteration, as far as this shows: memory rises through its backward "
                          "pass, 1 row by 5.00 MiB: AccumulateGrad::apply; three iterations or "
                          "more would show a trend"));
  EXPECT_THAT(Verdict({{"forward", rises}}, 24, true),
              ElementsAre(HasSubstr("memory rises through it, 1 row by 5.00 MiB: forward"),
                          HasSubstr("do not keep growing")));
}

TEST(LeaksVerdict, WhatOthersGiveBackIsNotGrowing) {
  EXPECT_THAT(Verdict({{"state", {1, 2, 3, 4, 5, 6}}, {"before", {6, 5, 4, 3, 2, 1}}}),
              ElementsAre("no row keeps growing over the 5 steps",
                          "1 row rises by 5.00 MiB, which other rows give back: the total stays at "
                          "7.00 MiB: state"));
  // The total rises by half as much: growth.
  EXPECT_THAT(Verdict({{"state", {2, 4, 6, 8, 10, 12}}, {"before", {6, 5, 4, 3, 2, 1}}}),
              ElementsAre(StartsWith("GROWING: 1 row")));
}

TEST(LeaksVerdict, OneStepIsNoTrend) {
  EXPECT_THAT(
      Verdict({{"w", {50, 50, 50, 50, 50, 90}}}),
      ElementsAre(
          "no row keeps growing over the 5 steps",
          "1 row stepped up once, at step 5 of 5 (s6), by 40.00 MiB, which is not a trend yet: "
          "w"));
  EXPECT_THAT(
      Verdict({{"a", {5, 5, 9, 9, 9, 9}}, {"b", {1, 1, 2, 2, 2, 2}}}),
      Contains("2 rows stepped up once, at step 2 of 5 (s3), together by 5.00 MiB, and then "
               "stayed, as start-up and caches do: a, b"));
  EXPECT_THAT(Verdict({{"a", {5, 5, 9, 9, 9, 9}}, {"b", {1, 2, 2, 2, 2, 2}}}),
              Contains(HasSubstr("at different steps")));
  // Two rises in the last steps only have begun to grow.
  EXPECT_THAT(Verdict({{"w", {5, 5, 5, 5, 6, 7}}}),
              Contains("1 row began to grow later, by 2.00 MiB since: w"));
}

TEST(LeaksVerdict, CapacityIsOfAllRowsTogether) {
  std::vector<double> up;
  std::vector<double> down;
  for (int i = 0; i < 10; ++i) {
    up.push_back(10 + 10 * i);
    down.push_back(100 - 10 * i);
  }
  EXPECT_THAT(
      Verdict({{"b", up}, {"a", down}}, 200),
      ElementsAre("no row keeps growing over the 9 steps",
                  "1 row rises by 90.00 MiB, which other rows give back: the total stays at 110.00 "
                  "MiB: b",
                  "all rows together do not keep growing, as others shrink or vary: there is "
                  "no telling when 200.00 MiB is full"));
  EXPECT_THAT(Verdict({{"b", up}}, 200),
              Contains("at +10.00 MiB per step live bytes go from 100.00 MiB to --capacity 200.00 "
                       "MiB in about 10 steps; what else the device holds makes it earlier"));
  EXPECT_THAT(Verdict({{"b", up}}, 100), Contains(HasSubstr("is reached already")));
  EXPECT_THAT(Verdict({{"b", {1, 2, 3}}}, 100),
              Contains(StartsWith("if this is growth: at +1.00")));
}

// The last step added 17, the next ones 19, 21, 23 …: 19 + 21 + 23 = 63 < 69 <= 63 + 25.
TEST(LeaksVerdict, CapacityFollowsAcceleration) {
  std::vector<double> series;
  for (int i = 0; i < 10; ++i) {
    series.push_back(50 + i * i);
  }
  EXPECT_THAT(
      Verdict({{"w", series}}, 200),
      Contains("if every step goes on to add 2.00 MiB more than the one before (the last "
               "added 17.00 MiB), live bytes go from 131.00 MiB to --capacity 200.00 MiB in "
               "about 4 steps; what else the device holds makes it earlier"));
  // By the formula: n² + 18 n >= 10^6 - 131 where step n adds 17 + 2 n, so n = 991.
  EXPECT_THAT(Verdict({{"w", series}}, 1'000'000), Contains(HasSubstr("in about 991 steps")));
  // The largest number that fits: no sum overflows.
  EXPECT_THAT(Verdict({{"w", series}}, INT64_MAX / kMiB), Contains(HasSubstr("in about 2,965,8")));
}

TEST(LeaksVerdict, CapacityMayNeverBeReached) {
  std::vector<double> halved;
  std::vector<double> root;
  for (int i = 0; i < 10; ++i) {
    halved.push_back(100 * (1 - std::pow(0.5, i + 1)));
    root.push_back(50 + 30 * std::sqrt(i));
  }
  EXPECT_THAT(Verdict({{"w", halved}}, 200),
              Contains("growth is slowing, and at that rate live bytes reach 100.00 MiB at most: "
                       "--capacity 200.00 MiB is not reached"));
  EXPECT_THAT(Verdict({{"w", halved}}, 200),
              Contains(HasSubstr("which leads to 100.00 MiB at most")));
  // 60 MiB in steps of at most 5.15 MiB.
  EXPECT_THAT(Verdict({{"w", root}}, 200),
              Contains(HasSubstr("in no fewer than 12 steps, if ever (the last added 5.15 MiB)")));
}

}  // namespace
}  // namespace memtool::commands
