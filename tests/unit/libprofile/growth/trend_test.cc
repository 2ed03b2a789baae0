// The Mann-Kendall test against its definition, against all permutations, and, over many random
// series with a known truth, how often a judgement is wrong.
#include "memtool/profile/growth/trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "memtool/profile/growth/growth.h"

namespace memtool {
namespace {

using Series = std::vector<std::int64_t>;
constexpr std::int64_t kTrendMiB = 1 << 20;

std::int64_t SlowS(const Series& series) {
  std::int64_t s = 0;
  for (std::size_t j = 1; j < series.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      s += (series[j] > series[i] ? 1 : 0) - (series[j] < series[i] ? 1 : 0);
    }
  }
  return s;
}

TEST(KendallS, AgreesWithAllPairs) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Series series(random() % 70);
    const std::uint_fast32_t values = 1 + random() % 50;  // few values: many are equal
    for (std::int64_t& value : series) {
      value = static_cast<std::int64_t>(random() % values);
    }
    EXPECT_EQ(KendallS(series), SlowS(series)) << testing::PrintToString(series);
  }
}

TEST(ChanceOfRise, IsTheShareOfPermutations) {
  for (std::size_t points = 2; points <= 7; ++points) {
    Series order(points);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::int64_t> all;
    Series permuted = order;
    do {
      all.push_back(SlowS(permuted));
    } while (std::next_permutation(permuted.begin(), permuted.end()));
    do {
      const std::int64_t s = SlowS(order);
      const auto as_much = std::count_if(all.begin(), all.end(), [s](auto x) { return x >= s; });
      const double share = static_cast<double>(as_much) / static_cast<double>(all.size());
      ASSERT_NEAR(ChanceOfRise(order), s > 0 ? share : 1, 1e-12) << testing::PrintToString(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// Equal values make a rise less likely than the test says, never more.
TEST(ChanceOfRise, IsCautiousWithEqualValues) {
  for (Series values : {Series{0, 1, 1, 2}, Series{0, 0, 1, 1, 2, 2}, Series{0, 0, 0, 1, 2, 3},
                        Series{0, 0, 0, 0, 1, 1, 1}}) {
    std::sort(values.begin(), values.end());
    std::vector<Series> all;
    do {
      all.push_back(values);
    } while (std::next_permutation(values.begin(), values.end()));
    for (const Series& series : all) {
      const std::int64_t s = SlowS(series);
      const auto as_much =
          std::count_if(all.begin(), all.end(), [s](const Series& x) { return SlowS(x) >= s; });
      const double share = static_cast<double>(as_much) / static_cast<double>(all.size());
      // One jump alone is as likely as the share of its one arrangement; others are rarer.
      EXPECT_GE(ChanceOfRise(series), std::min(share, kPerhaps) - 1e-12)
          << testing::PrintToString(series);
    }
  }
}

// Tables of Kendall (1975) and of Hollander, Wolfe: P(S >= s) for n points.
TEST(ChanceOfRise, AgreesWithPublishedTables) {
  EXPECT_NEAR(ChanceOfRise(Series{1, 2, 3, 4}), 0.042, 0.0005);
  EXPECT_NEAR(ChanceOfRise(Series{1, 2, 3, 4, 5}), 0.0083, 0.00005);
  EXPECT_NEAR(ChanceOfRise(Series{2, 1, 3, 4, 5}), 0.042, 0.0005);     // S = 8
  EXPECT_NEAR(ChanceOfRise(Series{3, 1, 2, 5, 4, 6}), 0.068, 0.0005);  // S = 9
  EXPECT_EQ(ChanceOfRise(Series{5, 4, 3}), 1);
  EXPECT_EQ(ChanceOfRise(Series{7}), 1);
}

// Permutations of n values with at most so many inversions, counted.
double ShareByCounting(std::size_t n, std::int64_t most) {
  std::vector<std::uint64_t> counts{1};
  std::uint64_t all = 1;
  for (std::size_t k = 2; k <= n; ++k) {
    std::vector<std::uint64_t> next(counts.size() + k - 1, 0);
    for (std::size_t i = 0; i < next.size(); ++i) {
      for (std::size_t place = 0; place < k && place <= i; ++place) {
        next[i] += i - place < counts.size() ? counts[i - place] : 0;
      }
    }
    counts = std::move(next);
    all *= k;
  }
  const auto end = counts.begin() + std::min<std::ptrdiff_t>(most + 1, std::ssize(counts));
  return static_cast<double>(std::accumulate(counts.begin(), end, std::uint64_t{0})) /
         static_cast<double>(all);
}

TEST(ChanceOfRise, TheApproximationIsCloseToTheCount) {
  std::mt19937 random(3);
  for (const std::size_t points : {8, 10, 11, 12, 15, 20}) {
    for (int round = 0; round < 200; ++round) {
      Series series;
      for (std::size_t i = 0; i < points; ++i) {
        // Noise that is as large as the whole rise, with hardly any equal values.
        series.push_back(static_cast<std::int64_t>(i * 1000 + random() % (1000 * points)));
      }
      const auto pairs = static_cast<std::int64_t>(points * (points - 1) / 2);
      const std::int64_t s = SlowS(series);
      if (s <= 0 || (pairs - s) % 2 != 0) {
        continue;
      }
      const double share = ShareByCounting(points, (pairs - s) / 2);
      EXPECT_NEAR(ChanceOfRise(series), share,
                  points <= kExactPoints ? 1e-12
                  : share <= kPerhaps    ? 0.002
                                         : 0.006);
    }
  }
}

Series Leaky(int points) {
  Series series;
  for (int i = 0; i < points; ++i) {
    series.push_back(10 * i + 60 * (i % 3));
  }
  return series;
}

// Hirsch, Slack, Smith: S and variance of the places of a cycle add up.
TEST(ChanceOfRise, OfCyclesComparesTheSamePlaces) {
  // Three places of four points that all rise: each is one order of 4!.
  EXPECT_NEAR(ChanceOfRise(Leaky(12), 3), std::pow(1 / 24.0, 3), 1e-15);
  // Two places, of four and of three points; the second has one of its three pairs the wrong way:
  // of 24 · 6 orders 1 has no inversion, 3 + 2 have one.
  EXPECT_NEAR(ChanceOfRise(Series{1, 50, 2, 40, 3, 60, 4}, 2), 6 / 144.0, 1e-12);
  // Approximated: three places of 15 points, S = 3 · 105, variance 3 · 15 · 14 · 35 / 18.
  const double deviations = 314 / std::sqrt(3 * 15 * 14 * 35 / 18.0);
  EXPECT_NEAR(ChanceOfRise(Leaky(45), 3) / (std::erfc(deviations / std::sqrt(2.0)) / 2), 1, 1e-9);
  EXPECT_EQ(ChanceOfRise(Series{1, 5, 9, 1, 5, 9, 1, 5, 9}, 3), 1);
}

// Pairs of a point and the one half a series later: a sign test.
TEST(ChanceOfRise, OfHalvesIsASignTest) {
  EXPECT_NEAR(ChanceOfRise(Series{1, 2, 3, 11, 12, 13}, 3), 1 / 8.0, 1e-12);
  EXPECT_NEAR(ChanceOfRise(Series{1, 2, 3, 4, 5, 11, 12, 13, 14, 0}, 5), 6 / 32.0, 1e-12);
}

TEST(FindCycle, FindsEvenFalls) {
  EXPECT_EQ(FindCycle(Series{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12}), 3U);
  EXPECT_EQ(FindCycle(Series{5, 9, 2, 6, 10, 3, 7, 11, 4}), 3U);
  EXPECT_EQ(FindCycle(Series{1, 5, 9, 2, 6, 10, 3, 7, 11}), 1U);        // two falls
  EXPECT_EQ(FindCycle(Series{1, 5, 9, 2, 6, 3, 7, 11, 4, 8, 12}), 1U);  // uneven
  EXPECT_EQ(FindCycle(Series{1, 2, 3, 4, 5, 2, 3, 2, 3, 2, 3}), 1U);    // none at the start
  EXPECT_EQ(FindCycle(Series{5, 4, 5, 4, 5, 4, 5, 6, 7, 8, 9}), 1U);    // none at the end
  EXPECT_EQ(FindCycle(Series{5, 4, 3, 2}), 1U);
  EXPECT_EQ(FindCycle(Series{}), 1U);
}

TEST(LowsRise, FollowsTheLine) {
  EXPECT_TRUE(LowsRise(Series{0, 9, 3, 12, 6, 15}, 2));
  EXPECT_FALSE(LowsRise(Series{0, 9, 0, 12, 0, 15}, 2));
  EXPECT_FALSE(LowsRise(Series{0, 1, 0, 1, 0, 50, 51, 50, 51, 50, 51, 50}, 6));  // one jump
  EXPECT_FALSE(LowsRise(Series{0, 20, 51, 50, 51, 52}, 10));                     // a start
  EXPECT_FALSE(LowsRise(Series{1, 2}, 1));
  EXPECT_TRUE(LowsRise(Series{INT64_MIN, 0, INT64_MAX}, INT64_MAX));
}

// --- how often judgements are wrong

using Make = std::function<std::int64_t(std::size_t at, std::mt19937& random)>;

// The share of random series that are said to grow for sure.
double ShareOfGrowing(std::size_t points, const Make& make, int rounds = 4000) {
  int growing = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    Series series;
    for (std::size_t i = 0; i < points; ++i) {
      series.push_back(make(i, random));
    }
    growing += JudgeGrowth(series).is_trend() ? 1 : 0;
  }
  return static_cast<double>(growing) / rounds;
}

// Even noise of up to `most` either way.
std::int64_t Noise(std::mt19937& random, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(-most, most)(random);
}

TEST(JudgeGrowth, NoiseIsRarelyCalledGrowing) {
  for (const std::size_t points : {3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 40, 100}) {
    const double share = ShareOfGrowing(points, [](std::size_t, std::mt19937& random) {
      return 100 * kTrendMiB + Noise(random, 50 * kTrendMiB);
    });
    EXPECT_LE(share, 0.0125) << points;  // kSure, and what 4,000 rounds are off by
    EXPECT_TRUE(points > 4 || share == 0) << points;
    // Values with a long tail: only their order counts.
    const double tail = ShareOfGrowing(points, [](std::size_t, std::mt19937& random) {
      return static_cast<std::int64_t>(std::exp(std::normal_distribution(10.0, 2.0)(random)));
    });
    EXPECT_LE(tail, 0.0125) << points;
  }
}

// Of a hundred rows of noise some rise as 1 of 100 does.
TEST(JudgeAndSort, ManyRowsOfNoiseAreRarelyCalledGrowing) {
  constexpr int kRounds = 300;
  for (const std::size_t points : {5, 6, 8, 10, 20}) {
    int growing = 0;
    int maybe = 0;
    for (std::uint32_t seed = 0; seed < kRounds; ++seed) {
      std::mt19937 random(seed);
      GrowthSeries series;
      series.points.resize(points);
      for (int row = 0; row < 100; ++row) {
        GrowthRow& to = series.rows.emplace_back();
        for (std::size_t i = 0; i < points; ++i) {
          to.series.push_back(100 * kTrendMiB + Noise(random, 50 * kTrendMiB));
        }
      }
      JudgeAndSort(series);
      growing += series.rows.front().growth.is_trend() ? 1 : 0;
      maybe += std::any_of(series.rows.begin(), series.rows.end(), [](const GrowthRow& row) {
        return row.growth.evidence == GrowthEvidence::kWeak &&
               row.growth.kind == GrowthKind::kNoisy;
      });
      // A leak among them is found, where there are points enough.
      for (std::size_t i = 0; i < points; ++i) {
        series.rows[50].series[i] = static_cast<std::int64_t>(i) * kTrendMiB;
      }
      series.rows[50].name = "leak";
      JudgeAndSort(series);
      const GrowthRow& first = series.rows.front();
      EXPECT_TRUE(points < 7 || (first.name == "leak" && first.growth.is_trend())) << points;
    }
    EXPECT_LE(growing, kRounds * 0.07) << points;  // kSureOfAll, and what the rounds are off by
    EXPECT_LE(maybe, kRounds * 0.25) << points;
  }
}

TEST(JudgeGrowth, ACycleWithoutGrowthIsRarelyCalledGrowing) {
  for (const std::size_t points : {10, 12, 15, 20, 30, 40}) {
    for (std::size_t cycle = 2; cycle <= points / 2; ++cycle) {
      for (std::size_t begin = 0; begin < cycle; ++begin) {
        EXPECT_EQ(ShareOfGrowing(
                      points,
                      [&](std::size_t i, std::mt19937&) {
                        return static_cast<std::int64_t>((i + begin) % cycle) * 10 * kTrendMiB;
                      },
                      1),
                  0)
            << points << " points, cycle " << cycle << " from " << begin;
      }
      const double share = ShareOfGrowing(
          points,
          [&](std::size_t i, std::mt19937& random) {
            return static_cast<std::int64_t>(i % cycle) * 10 * kTrendMiB +
                   Noise(random, 10 * kTrendMiB);
          },
          400);
      // The noise is as large as a step. Two cycles show the least.
      EXPECT_LE(share, 3 * cycle <= points ? 0.04 : 0.09) << points << " points, cycle " << cycle;
    }
  }
}

TEST(JudgeGrowth, AJumpOrAStartIsRarelyCalledGrowing) {
  for (const std::size_t points : {10, 12, 16, 20, 40, 100}) {
    for (const std::size_t tenth : {1, 3, 5, 7, 9}) {
      const double jump = ShareOfGrowing(
          points,
          [&](std::size_t i, std::mt19937& random) {
            return (i * 10 < points * tenth ? 0 : 100 * kTrendMiB) + Noise(random, 5 * kTrendMiB);
          },
          1000);
      EXPECT_LE(jump, 0.0125) << points << " points, jump at " << tenth;
    }
    const double start = ShareOfGrowing(
        points,
        [&](std::size_t i, std::mt19937& random) {
          const auto up = static_cast<std::int64_t>(std::min(3 * i, points));
          return up * 100 * kTrendMiB / static_cast<std::int64_t>(points) +
                 Noise(random, 5 * kTrendMiB);
        },
        1000);
    EXPECT_LE(start, 0.0125) << points;
  }
}

TEST(JudgeGrowth, GrowthIsFoundInNoise) {
  struct Case {
    std::size_t points;
    std::int64_t noise;  // MiB either way, at 20 MiB per step
    double least;
  };
  for (const Case& test : {Case{8, 30, 0.85}, Case{10, 50, 0.85}, Case{20, 150, 0.85},
                           Case{40, 300, 0.9}, Case{100, 500, 0.99}}) {
    const double share = ShareOfGrowing(test.points, [&](std::size_t i, std::mt19937& random) {
      return (500 + 20 * static_cast<std::int64_t>(i)) * kTrendMiB +
             Noise(random, test.noise * kTrendMiB);
    });
    EXPECT_GE(share, test.least) << test.points << " points, noise " << test.noise;
  }
}

TEST(JudgeGrowth, GrowthIsFoundUnderACycle) {
  for (const std::size_t points : {12, 16, 20, 40}) {
    for (std::size_t cycle = 2; cycle <= points / 4; ++cycle) {
      const double share = ShareOfGrowing(
          points,
          [&](std::size_t i, std::mt19937& random) {
            const auto cycles = static_cast<std::int64_t>(i % cycle) * 60;
            return (500 + 20 * static_cast<std::int64_t>(i) + cycles) * kTrendMiB +
                   Noise(random, 10 * kTrendMiB);
          },
          400);
      EXPECT_GE(share, 0.95) << points << " points, cycle " << cycle;
    }
  }
}

}  // namespace
}  // namespace memtool
