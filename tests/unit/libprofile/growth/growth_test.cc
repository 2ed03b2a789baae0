#include "memtool/profile/growth/growth.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;
using Series = std::vector<std::int64_t>;

Series Rising(std::int64_t from, std::int64_t step, int points) {
  Series series;
  for (int i = 0; i < points; ++i) {
    series.push_back(from + i * step);
  }
  return series;
}

TEST(JudgeGrowth, SlopeOfALineIsExact) {
  for (const int points : {2, 3, 4, 9, 10, 1000}) {
    for (const std::int64_t step : {1L, -1L, 7L, 40'000L, 1L << 40, -(1L << 40)}) {
      for (const std::int64_t from : {0L, 1L, -5L, 1L << 60, -(1L << 60)}) {
        const Growth growth = JudgeGrowth(Rising(from, step, points));
        EXPECT_EQ(growth.slope, step) << points << " points from " << from;
        EXPECT_EQ(growth.fit, points > 2 ? std::optional(1.0) : std::nullopt);
        EXPECT_EQ(growth.acceleration, 0);
        EXPECT_EQ(growth.min_step, step);
        EXPECT_EQ(growth.max_step, step);
      }
    }
  }
}

TEST(JudgeGrowth, ConstantsHaveNoSlope) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{4'000'000}, INT64_MAX, INT64_MIN}) {
    const Growth growth = JudgeGrowth(Series(7, value));
    EXPECT_EQ(growth.kind, GrowthKind::kConstant);
    EXPECT_EQ(growth.slope, 0);
    EXPECT_EQ(growth.fit, std::nullopt);
    EXPECT_EQ(growth.delta(), 0);
  }
  EXPECT_EQ(JudgeGrowth(Series{5}).kind, GrowthKind::kConstant);
}

// By hand: x = 0 1 2 3, y = 0 0 0 10; mean x 1.5, Sxy = 15, Sxx = 5, Syy = 75: slope 3, R² = 0.6.
TEST(JudgeGrowth, LeastSquaresByHand) {
  const Growth growth = JudgeGrowth(Series{0, 0, 0, 10});
  EXPECT_EQ(growth.slope, 3);
  EXPECT_EQ(growth.fit, 0.6);
  // Sxy = 5, Sxx = 2: 2.5, away from zero.
  EXPECT_EQ(JudgeGrowth(Series{0, 0, 5}).slope, 3);
  EXPECT_EQ(JudgeGrowth(Series{0, 0, -5}).slope, -3);
}

TEST(JudgeGrowth, SlopeAgreesWithTheFormulaInFloatingPoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Series series;
    const int points = 3 + static_cast<int>(random() % 40);
    for (int i = 0; i < points; ++i) {
      series.push_back(static_cast<std::int64_t>(random() % 2'000'000) - 1'000'000);
    }
    const double n = points;
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (int i = 0; i < points; ++i) {
      const auto y = static_cast<double>(series[static_cast<std::size_t>(i)]);
      sx += i, sy += y, sxx += i * static_cast<double>(i), sxy += i * y, syy += y * y;
    }
    const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    const double fit = (n * sxy - sx * sy) * slope / (n * syy - sy * sy);
    const Growth growth = JudgeGrowth(series);
    EXPECT_NEAR(static_cast<double>(growth.slope), slope, 0.51);
    EXPECT_NEAR(growth.fit.value(), fit, 2e-6);
    // Shifted far away: the same slope and fit.
    for (std::int64_t& value : series) {
      value += std::int64_t{1} << 61;
    }
    EXPECT_EQ(JudgeGrowth(series).slope, growth.slope);
    EXPECT_NEAR(JudgeGrowth(series).fit.value(), growth.fit.value(), 2e-6);
  }
}

TEST(JudgeGrowth, EndsOfTheRangeSaturate) {
  const Growth up = JudgeGrowth(Series{INT64_MIN, INT64_MAX});
  EXPECT_EQ(up.slope, INT64_MAX);
  EXPECT_EQ(up.delta(), INT64_MAX);
  const Growth down = JudgeGrowth(Series{INT64_MAX, 0, INT64_MIN});
  EXPECT_EQ(down.slope, INT64_MIN);
  EXPECT_EQ(down.kind, GrowthKind::kShrinking);
}

struct KindCase {
  Series series;
  GrowthKind kind;
  GrowthDetail detail;
};

TEST(JudgeGrowth, TellsKindsApart) {
  using Kind = GrowthKind;
  using Detail = GrowthDetail;
  const std::vector<KindCase> cases{
      {{1, 2, 3}, Kind::kSteady, Detail::kEven},
      {{0, 100, 205, 300}, Kind::kSteady, Detail::kEven},
      {{0, 100, 220, 320}, Kind::kSteady, Detail::kUneven},
      {{0, 10, 30}, Kind::kSteady, Detail::kUneven},
      {{0, 10, 30, 60}, Kind::kSteady, Detail::kAccelerating},
      {{0, 30, 50, 60}, Kind::kSteady, Detail::kSlowing},
      {{0, 10, 10, 20, 20, 30}, Kind::kStepwise, Detail::kRepeated},
      {{0, 10, 10, 20}, Kind::kStepwise, Detail::kRepeated},
      {{0, 1, 1, 1, 2, 2, 2, 3, 3}, Kind::kStepwise, Detail::kRepeated},
      {{0, 5}, Kind::kStepwise, Detail::kOnce},
      {{0, 5, 5, 5}, Kind::kStepwise, Detail::kOnce},
      {{0, 0, 5, 5, 5}, Kind::kStepwise, Detail::kOnce},
      {{0, 0, 0, 5}, Kind::kStepwise, Detail::kOnce},
      {{0, 5, 9, 9, 9, 9, 9, 9}, Kind::kStepwise, Detail::kStopped},
      {{0, 0, 0, 0, 0, 0, 4, 6}, Kind::kStepwise, Detail::kLate},
      {{9, 5, 5}, Kind::kShrinking, Detail::kNone},
      {{9, 5}, Kind::kShrinking, Detail::kNone},
      {{0, 10, 9, 20, 19, 30, 29, 40}, Kind::kNoisy, Detail::kRising},
      {{40, 29, 30, 19, 20, 9, 10, 0}, Kind::kNoisy, Detail::kFalling},
      {{0, 10, 0, 10, 0, 10}, Kind::kNoisy, Detail::kLevel},
      // A jump explains three quarters of the variance, which is no trend.
      {{1, 0, 1, 0, 1, 99, 100, 99, 100, 99}, Kind::kNoisy, Detail::kLevel},
      {{0, 9, 5}, Kind::kNoisy, Detail::kLevel},
      // A cycle that keeps some of what it takes, and one that does not.
      {{0, 6, 12, 3, 9, 15, 6, 12, 18, 9, 15, 21}, Kind::kNoisy, Detail::kRising},
      {{0, 6, 12, 0, 6, 12, 0, 6, 12, 0, 6, 12}, Kind::kNoisy, Detail::kLevel},
      {{21, 15, 9, 18, 12, 6, 15, 9, 3, 12, 6, 0}, Kind::kNoisy, Detail::kFalling},
  };
  for (const KindCase& test : cases) {
    const Growth growth = JudgeGrowth(test.series);
    EXPECT_EQ(growth.kind, test.kind) << testing::PrintToString(test.series);
    EXPECT_EQ(growth.detail, test.detail) << testing::PrintToString(test.series);
  }
}

TEST(JudgeGrowth, FewPointsAreWeakEvidence) {
  for (const std::int64_t points : {3, 4, 5, 9}) {
    const Growth growth = JudgeGrowth(Rising(100, 7, static_cast<int>(points)));
    EXPECT_EQ(growth.kind, GrowthKind::kSteady);
    EXPECT_EQ(growth.evidence, points < 5 ? GrowthEvidence::kWeak : GrowthEvidence::kStrong);
    EXPECT_NEAR(growth.chance, 1 / std::tgamma(points + 1), 5e-7);
  }
  EXPECT_EQ(JudgeGrowth(Series{100, 101}).evidence, GrowthEvidence::kNone);
  EXPECT_EQ(JudgeGrowth(Series{9, 9, 9, 9, 9}).chance, 1);
  // Two rises, however many points.
  Series two(30, 0);
  std::fill(two.begin() + 5, two.end(), 10);
  std::fill(two.begin() + 25, two.end(), 20);
  EXPECT_EQ(JudgeGrowth(two).detail, GrowthDetail::kRepeated);
  EXPECT_EQ(JudgeGrowth(two).evidence, GrowthEvidence::kWeak);
}

TEST(JudgeGrowth, WhatIsKeptIsEvidence) {
  const Series line = Rising(100, 7, 9);
  EXPECT_EQ(JudgeGrowth(line, Retained{}).evidence, GrowthEvidence::kFreed);
  EXPECT_EQ(JudgeGrowth(line, Retained{.bytes = 1, .steps = 1}).evidence, GrowthEvidence::kStrong);
  EXPECT_EQ(JudgeGrowth(Rising(9, 0, 9), Retained{}).evidence, GrowthEvidence::kNone);
  // Noise that rises less surely: as much as one of 28 orders of ten points.
  const Series noise{0, 60, 30, 85, 70, 45, 72, 90, 66, 80};
  const Growth alone = JudgeGrowth(noise);
  EXPECT_EQ(alone.detail, GrowthDetail::kRising);
  EXPECT_GT(alone.chance, kSure);
  EXPECT_EQ(alone.evidence, GrowthEvidence::kWeak);
  const Retained early{.bytes = 60, .steps = 4, .early_steps = 3};
  EXPECT_EQ(JudgeGrowth(noise, early).evidence, GrowthEvidence::kStrong);
  const Retained late{.bytes = 60, .steps = 3, .early_steps = 0};
  EXPECT_EQ(JudgeGrowth(noise, late).evidence, GrowthEvidence::kWeak);
}

TEST(JudgeGrowth, TheWholeKeepsWhatItsRowsKeep) {
  GrowthSeries series;
  for (const std::int64_t total : Rising(100, 7, 9)) {
    series.points.push_back({.total = total});
  }
  series.rows.push_back({.name = "a", .series = Rising(100, 7, 9), .retained = Retained{}});
  series.rows.push_back({.name = "b", .series = Rising(0, 0, 9), .retained = Retained{}});
  JudgeAndSort(series);
  EXPECT_EQ(series.whole.evidence, GrowthEvidence::kFreed);
  series.rows[1].retained = Retained{.bytes = 5, .steps = 2};
  JudgeAndSort(series);
  EXPECT_EQ(series.whole.evidence, GrowthEvidence::kStrong);
}

TEST(JudgeGrowth, SlowingGrowthMayHaveALimit) {
  // Halved each time: 50 + 25 + … leads to 100.
  const Growth halved = JudgeGrowth(Series{50'000, 75'000, 87'500, 93'750, 96'875});
  EXPECT_EQ(halved.detail, GrowthDetail::kSlowing);
  EXPECT_EQ(halved.limit, 100'000);
  // The square root slows down and has none: its steps shrink ever more slowly.
  Series root;
  for (int i = 0; i < 10; ++i) {
    root.push_back(static_cast<std::int64_t>(1e6 * std::sqrt(i)));
  }
  EXPECT_EQ(JudgeGrowth(root).detail, GrowthDetail::kSlowing);
  EXPECT_EQ(JudgeGrowth(root).limit, std::nullopt);
  EXPECT_EQ(JudgeGrowth(Rising(0, 5, 9)).limit, std::nullopt);
}

TEST(JudgeGrowth, NotesTheLastRise) {
  EXPECT_EQ(JudgeGrowth(Series{5, 5, 9, 9, 9}).last_rise, 2U);
  EXPECT_EQ(JudgeGrowth(Series{5, 5, 5, 5, 9}).last_rise, 4U);
  EXPECT_EQ(JudgeGrowth(Series{5, 5, 5}).last_rise, 0U);
  EXPECT_EQ(JudgeGrowth(Series{5, 7, 8}).last_step, 1);
}

TEST(JudgeGrowth, CountsStepsAndBends) {
  const Growth growth = JudgeGrowth(Series{40, 120, 240, 400, 600});
  EXPECT_EQ(growth.steps, 4U);
  EXPECT_EQ(growth.grew, 4U);
  EXPECT_EQ(growth.shrank, 0U);
  EXPECT_EQ(growth.acceleration, 40);
  EXPECT_TRUE(growth.even_acceleration);
  EXPECT_EQ(growth.min_step, 80);
  EXPECT_EQ(growth.max_step, 200);
  EXPECT_FALSE(JudgeGrowth(Series{0, 10, 30, 90}).even_acceleration);
  const Growth noisy = JudgeGrowth(Series{5, 9, 2, 2});
  EXPECT_EQ(noisy.grew, 1U);
  EXPECT_EQ(noisy.shrank, 1U);
  EXPECT_EQ(noisy.delta(), -3);
}

// --- several inputs

// Rows of one profile over a space, as the command makes them.
struct Tabulated {
  std::vector<Row> rows;
  std::int64_t total = 0;
};

Tabulated Tabulate(const Recording& recording, NodeSpace& space, std::string_view by) {
  const Filter filter = *Filter::Compile(test::AllFrames());
  const View view(recording, filter);
  const ValueChoice choice = *ChooseValue(recording, "");
  const StackSums sums = SumByStack(view, choice);
  Tabulator table(*ParseBy(by), space);
  table.Add({.view = &view, .sums = &sums, .choice = &choice, .name = "input"});
  return {table.Rows(SortBy::kFlat), table.total()};
}

std::vector<std::string> Texts(const GrowthSeries& series) {
  std::vector<std::string> texts;
  for (const GrowthRow& row : series.rows) {
    texts.push_back(fmt::format("{} {}", row.name, fmt::join(row.series, " ")));
  }
  return texts;
}

std::vector<std::string> Names(const GrowthSeries& series) {
  std::vector<std::string> names;
  for (const GrowthPoint& point : series.points) {
    names.push_back(point.name);
  }
  return names;
}

TEST(GrowthTable, JoinsRowsOfAllInputs) {
  NodeSpace space;
  GrowthTable table;
  int number = 0;
  for (const std::int64_t leak : {10, 20, 30, 40}) {
    test::ProfileMaker maker;
    maker.Sample("main;same@a.py:1", {1, 7}).Sample("main;leak@a.py:2", {1, leak});
    if (number == 2) {
      maker.Sample("main;once", {1, 99});
    }
    const Recording recording = maker.Finish();
    Tabulated made = Tabulate(recording, space, "filefunction");
    table.Add({.name = fmt::format("m{}", ++number), .total = made.total}, std::move(made.rows));
  }
  const GrowthSeries series = table.Finish(InputOrder::kName, SortBy::kFlat);
  EXPECT_THAT(Texts(series),
              ElementsAre("leak 10 20 30 40", "once 0 0 99 0", "same 7 7 7 7", "main 0 0 0 0"));
  EXPECT_EQ(series.rows[0].growth.slope, 10);
  EXPECT_EQ(series.rows[0].file, "a.py");
  EXPECT_EQ(series.rows[0].line, 2);
  EXPECT_EQ(series.whole.first, 17);
  EXPECT_EQ(series.whole.last, 47);
}

TEST(GrowthTable, CumulativeSeriesFollowCallers) {
  NodeSpace space;
  GrowthTable table;
  for (const std::int64_t bytes : {1, 2, 3}) {
    const Recording recording = test::ProfileMaker().Sample("main;leak", {1, bytes}).Finish();
    Tabulated made = Tabulate(recording, space, "function");
    table.Add({.name = fmt::format("{}", bytes), .total = made.total}, std::move(made.rows));
  }
  EXPECT_THAT(Texts(table.Finish(InputOrder::kGiven, SortBy::kCum)),
              ElementsAre("leak 1 2 3", "main 1 2 3"));
}

// Rows sum to the totals at every point; the order in which inputs came does not matter.
TEST(GrowthTable, RowsSumToTotalsInAnyOrder) {
  for (const std::string_view by : {"function", "line", "stack", "size", "label:kind"}) {
    std::vector<std::uint32_t> order(6);
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::string> first;
    std::mt19937 random(3);
    for (int round = 0; round < 5; ++round) {
      NodeSpace space;
      GrowthTable table;
      for (const std::uint32_t seed : order) {
        const Recording recording = test::RandomProfile(seed);
        Tabulated made = Tabulate(recording, space, by);
        table.Add({.name = fmt::format("input{}", seed + 7), .total = made.total},
                  std::move(made.rows));
      }
      const GrowthSeries series = table.Finish(InputOrder::kName, SortBy::kFlat);
      EXPECT_EQ(Names(series).front(), "input7");
      EXPECT_EQ(Names(series).back(), "input12");
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        std::int64_t sum = 0;
        for (const GrowthRow& row : series.rows) {
          sum += row.series[i];
        }
        EXPECT_EQ(sum, series.points[i].total) << by;
      }
      if (first.empty()) {
        first = Texts(series);
      }
      EXPECT_EQ(Texts(series), first) << by;
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST(GrowthTable, GrowthThatGoesOnComesFirst) {
  GrowthSeries series;
  const auto add = [&series](const char* name, Series values) {
    series.rows.push_back({.name = name, .series = std::move(values)});
  };
  add("constant", {9, 9, 9, 9, 9, 9});
  add("shrinking", {900, 9, 9, 9, 9, 9});
  add("once", {0, 0, 900, 900, 900, 900});
  add("level", {0, 900, 0, 900, 0, 900});
  add("steady", {0, 1, 2, 3, 4, 5});
  add("steeper", {0, 2, 4, 6, 8, 10});
  add("repeated", {0, 500, 500, 1000, 1000, 1500});
  series.points.resize(6);
  JudgeAndSort(series);
  std::vector<std::string> names;
  for (const GrowthRow& row : series.rows) {
    names.push_back(row.name.str());
  }
  EXPECT_THAT(names, ElementsAre("steeper", "steady", "repeated", "once", "level", "shrinking",
                                 "constant"));
}

TEST(GrowthTable, OrdersByTimeOnlyWhenAllInputsHaveIt) {
  GrowthTable table;
  table.Add({.name = "b", .time = 2}, {});
  EXPECT_FALSE(table.HasTimes());  // one time tells no order
  table.Add({.name = "a", .time = 3}, {});
  table.Add({.name = "c2", .time = 1}, {});
  table.Add({.name = "c10", .time = 1}, {});
  EXPECT_TRUE(table.HasTimes());
  GrowthTable untimed = table;
  untimed.Add({.name = "z"}, {});
  EXPECT_FALSE(untimed.HasTimes());
  GrowthTable given = table;
  EXPECT_THAT(Names(table.Finish(InputOrder::kTime, SortBy::kFlat)),
              ElementsAre("c2", "c10", "b", "a"));
  EXPECT_THAT(Names(given.Finish(InputOrder::kGiven, SortBy::kFlat)),
              ElementsAre("b", "a", "c2", "c10"));
}

TEST(NaturalLess, ReadsNumbersInNames) {
  std::vector<std::string> names{"memory10.prof",
                                 "memory2.prof",
                                 "memory1.prof",
                                 "memory.prof",
                                 "memory01.prof",
                                 "memory2a.prof",
                                 "a/9/m1",
                                 "a/10/m0",
                                 "99999999999999999999999",
                                 "100000000000000000000000"};
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(names.begin(), names.end(), random);
    std::sort(names.begin(), names.end(), NaturalLess);
    EXPECT_THAT(names, ElementsAre("99999999999999999999999", "100000000000000000000000", "a/9/m1",
                                   "a/10/m0", "memory.prof", "memory01.prof", "memory1.prof",
                                   "memory2.prof", "memory2a.prof", "memory10.prof"));
  }
  EXPECT_FALSE(NaturalLess("same1", "same1"));
  EXPECT_TRUE(NaturalLess("", "a"));
}

}  // namespace
}  // namespace memtool
