// Classes and outliers of jobs whose truth is known, and over many random groups how often a
// verdict is wrong.
#include "memtool/profile/ranks/classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace memtool {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20U;
constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
using Rows = std::vector<std::size_t>;
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Values = std::vector<std::int64_t>;

// Row keys of the jobs below.
enum Key : std::uint64_t {
  kWeights = 10,
  kGradients = 20,
  kStates = 30,
  kEmbedding = 40,
  kLeak = 50
};

class Job {
 public:
  // Each rank holds `layers` times what a layer takes.
  void Add(int layers, std::vector<RowBytes> more = {}) {
    std::vector<RowBytes> rows{{kWeights, layers * 200 * kMebibyte},
                               {kGradients, layers * 200 * kMebibyte},
                               {kStates, layers * 400 * kMebibyte}};
    rows.insert(rows.end(), more.begin(), more.end());
    rows_.push_back(std::move(rows));
  }
  void AddMany(int count, int layers, const std::vector<RowBytes>& more = {}) {
    for (int i = 0; i < count; ++i) {
      Add(layers, more);
    }
  }
  std::vector<RowBytes>& rows(std::size_t rank) { return rows_[rank]; }
  void Remove(std::size_t rank) { removed_.push_back(rank); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  std::vector<RankMemory> Ranks() const {
    std::vector<RankMemory> ranks;
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      if (std::find(removed_.begin(), removed_.end(), rank) != removed_.end()) {
        continue;
      }
      std::int64_t peak = 0;
      for (const RowBytes& row : rows_[rank]) {
        peak += row.bytes;
      }
      ranks.push_back({static_cast<std::int64_t>(rank), peak, rows_[rank]});
    }
    return ranks;
  }
  RankClasses Classes() const {
    const auto ranks = Ranks();
    return ClassifyRanks(ranks, static_cast<std::int64_t>(size()));
  }
  Ranges RangesOfClass(const RankClasses& found, std::size_t at) const {
    const auto ranks = Ranks();
    return MakeRanges(ranks, found.classes[at].members);
  }

 private:
  std::vector<std::vector<RowBytes>> rows_;
  std::vector<std::size_t> removed_;
};

TEST(ClassifyRanks, FindsStagesAndTheLeak) {
  Job job;
  job.AddMany(12, 8);
  job.AddMany(4, 6);
  job.rows(9).push_back({kLeak, 320 * kMebibyte});
  const RankClasses found = job.Classes();
  ASSERT_EQ(found.classes.size(), 2);
  EXPECT_EQ(job.RangesOfClass(found, 0), (Ranges{{0, 11}}));
  EXPECT_EQ(job.RangesOfClass(found, 1), (Ranges{{12, 15}}));
  ASSERT_EQ(found.outliers.size(), 1);
  EXPECT_EQ(found.outliers[0].row, 9);
  EXPECT_EQ(found.outliers[0].above, 320 * kMebibyte);
  EXPECT_TRUE(found.outliers[0].alone);
  ASSERT_EQ(found.outliers[0].because.size(), 1);
  EXPECT_EQ(found.outliers[0].because[0].key, kLeak);
  EXPECT_EQ(found.outliers[0].because[0].between, 320 * kMebibyte);
  EXPECT_EQ(found.structure.kind, RankPatternKind::kPipelineStages);
  EXPECT_EQ(found.structure.stages, 4);
  EXPECT_EQ(found.structure.block, 4);
  EXPECT_EQ(found.classes[1].differences[0].key, kStates);
  EXPECT_EQ(found.classes[1].differences[0].between, -800 * kMebibyte);
}

TEST(ClassifyRanks, FindsOneClass) {
  Job job;
  job.AddMany(8, 4);
  const RankClasses found = job.Classes();
  EXPECT_EQ(found.classes.size(), 1);
  EXPECT_EQ(found.structure.kind, RankPatternKind::kAlike);
  EXPECT_TRUE(found.outliers.empty());
  EXPECT_EQ(found.classes[0].median, 4 * 800 * kMebibyte);
  EXPECT_TRUE(ClassifyRanks({}, 0).classes.empty());
}

// What is below a hundredth of the job, or 64 MiB, is no difference.
TEST(ClassifyRanks, KeepsTheTolerance) {
  for (const std::int64_t more : {64 * kMebibyte, 64 * kMebibyte + 1}) {
    Job job;
    job.AddMany(8, 1);
    job.rows(3).push_back({kLeak, more});
    EXPECT_EQ(job.Classes().outliers.size(), more > 64 * kMebibyte ? 1 : 0);
  }
  Job large;
  large.AddMany(8, 100);
  large.rows(3).push_back({kLeak, 800 * kMebibyte});
  EXPECT_TRUE(large.Classes().outliers.empty());
  large.rows(3).back().bytes = 820 * kMebibyte;
  EXPECT_EQ(large.Classes().outliers.size(), 1);
}

TEST(ClassifyRanks, TakesAHundredthOfTheLargerTotal) {
  for (const std::int64_t less : {800 * kMebibyte, 800 * kMebibyte + 1}) {
    Job job;
    job.AddMany(8, 100);  // 80,000 MiB each
    job.rows(3)[0].bytes -= less;
    EXPECT_EQ(job.Classes().classes.size(), less > 800 * kMebibyte ? 2 : 1);
  }
}

// What differs in more than the one row is not "like the others, but for a leak", unless nearly all
// others are alike.
TEST(ClassifyRanks, TakesOneOfFewAlikeForNoOutlier) {
  for (const std::int64_t other : {64 * kMebibyte, 65 * kMebibyte}) {
    Job job;
    job.AddMany(8, 4);
    job.AddMany(8, 3);
    job.rows(3)[1].bytes -= other;
    job.rows(3).push_back({kLeak, kGiB});
    const RankClasses found = job.Classes();
    EXPECT_EQ(found.outliers.size(), other == 64 * kMebibyte ? 1 : 0);
    EXPECT_EQ(found.classes.size(), other == 64 * kMebibyte ? 2 : 3);
  }
}

TEST(ClassifyRanks, TakesOneThatHoldsMoreThanAllOthersForAnOutlier) {
  for (const std::size_t rank : {0U, 7U, 14U}) {
    Job job;
    job.AddMany(15, 4);
    for (std::size_t row = 0; row < 3; ++row) {
      job.rows(rank)[row].bytes += 194 * kMebibyte;
    }
    const RankClasses found = job.Classes();
    ASSERT_EQ(found.outliers.size(), 1) << rank;
    EXPECT_EQ(found.outliers[0].row, rank);
    EXPECT_EQ(found.outliers[0].above, 582 * kMebibyte);
    EXPECT_EQ(found.classes.size(), 1);
  }
}

// Which program a rank runs, its rows say.
TEST(ClassifyRanks, TakesAnotherProgramForNoOutlier) {
  Job job;
  job.AddMany(16, 4);
  job.rows(3) = {{kLeak, 9 * kGiB}};
  EXPECT_TRUE(job.Classes().outliers.empty());
  EXPECT_EQ(job.Classes().classes.size(), 2);
}

// Rows that change places make another class although totals are equal.
TEST(ClassifyRanks, ComparesRowsAndNotTotals) {
  Job job;
  job.AddMany(4, 4);
  job.AddMany(4, 4);
  for (std::size_t rank = 4; rank < 8; ++rank) {
    job.rows(rank)[0].bytes += 500 * kMebibyte;
    job.rows(rank)[2].bytes -= 500 * kMebibyte;
  }
  EXPECT_EQ(job.Classes().classes.size(), 2);
}

TEST(ClassifyRanks, MissingRanksFitAnyStructure) {
  Job job;
  for (const int layers : {8, 7, 6, 5}) {
    job.AddMany(16, layers);
  }
  job.Remove(5);
  job.Remove(16);
  job.Remove(63);
  const RankClasses found = job.Classes();
  EXPECT_EQ(found.classes.size(), 4);
  EXPECT_EQ(found.structure.kind, RankPatternKind::kPipelineStages);
  EXPECT_EQ(found.structure.stages, 4);
  EXPECT_EQ(job.RangesOfClass(found, 0), (Ranges{{0, 4}, {6, 15}}));
}

TEST(ClassifyRanks, NamesOtherStructures) {
  const auto kind = [](const std::vector<int>& layers) {
    Job job;
    for (const int l : layers) {
      job.Add(l);
    }
    return job.Classes().structure;
  };
  const auto repeat = [](std::vector<int> unit, int times) {
    std::vector<int> all;
    for (int i = 0; i < times; ++i) {
      all.insert(all.end(), unit.begin(), unit.end());
    }
    return all;
  };
  const RankStructure first = kind(repeat({9, 6, 6, 6, 6, 6, 6, 6}, 4));
  EXPECT_EQ(first.kind, RankPatternKind::kFirstOfNode);
  EXPECT_EQ(first.period, 8);
  const RankStructure second = kind(repeat({9, 9, 9, 9, 6, 6, 6, 6}, 4));
  EXPECT_EQ(second.kind, RankPatternKind::kEverySecond);
  EXPECT_EQ(second.block, 4);
  const RankStructure repeated = kind(repeat({9, 9, 7, 7, 5, 5}, 4));
  EXPECT_EQ(repeated.kind, RankPatternKind::kRepeatedStages);
  EXPECT_EQ(repeated.stages, 3);
  EXPECT_EQ(repeated.block, 2);
  EXPECT_EQ(kind({9, 6, 6, 6, 6, 6, 6, 7}).kind, RankPatternKind::kEnds);
  EXPECT_EQ(kind({9, 6, 6, 9, 9, 6, 9, 7}).kind, RankPatternKind::kNone);
  EXPECT_EQ(kind({8, 8, 8, 8, 4, 4, 4, 4}).kind, RankPatternKind::kHalves);
  EXPECT_EQ(kind({9, 7, 5, 3}).kind, RankPatternKind::kNone);
}

// Embedding on the first and loss on the last rank of a pipeline: one row more, but no leak.
TEST(ClassifyRanks, TakesNoEndsForOutliers) {
  Job job;
  job.AddMany(16, 4);
  job.rows(0).push_back({kEmbedding, kGiB});
  job.rows(15).push_back({kLeak, 2 * kGiB});
  const RankClasses found = job.Classes();
  EXPECT_TRUE(found.outliers.empty());
  EXPECT_EQ(found.classes.size(), 3);
  EXPECT_EQ(found.structure.kind, RankPatternKind::kEnds);
}

// Too many to be exceptions, or too few to say what is normal.
TEST(ClassifyRanks, CallsFewOutliersOnly) {
  Job four;
  four.AddMany(4, 4);
  four.rows(2).push_back({kLeak, kGiB});
  EXPECT_TRUE(four.Classes().outliers.empty());
  EXPECT_EQ(four.Classes().classes.size(), 2);
  Job ten;
  ten.AddMany(10, 4);
  ten.rows(2).push_back({kLeak, kGiB});
  ten.rows(5).push_back({kLeak, 2 * kGiB});
  EXPECT_EQ(ten.Classes().outliers.size(), 2);
  EXPECT_EQ(ten.Classes().outliers[0].row, 5);
  ten.rows(7).push_back({kLeak, 3 * kGiB});
  EXPECT_TRUE(ten.Classes().outliers.empty());
  EXPECT_EQ(ten.Classes().classes.size(), 4);
}

TEST(ClassifyRanks, SurvivesAnyAmounts) {
  const std::vector<RowBytes> huge{{1, INT64_MAX}, {2, INT64_MAX}, {3, INT64_MIN}};
  const std::vector<RowBytes> tiny{{1, INT64_MIN}, {2, INT64_MIN}};
  std::vector<RankMemory> ranks;
  for (std::int64_t rank = 0; rank < 12; ++rank) {
    ranks.push_back({rank, rank % 2 == 0 ? INT64_MAX : INT64_MIN,
                     rank % 3 == 0 ? std::span(huge) : std::span(tiny)});
  }
  ranks.back().rank = INT64_MAX;
  const RankClasses found = ClassifyRanks(ranks, INT64_MAX);
  EXPECT_EQ(found.class_of.size(), ranks.size());
  EXPECT_EQ(found.structure.kind, RankPatternKind::kNone);
}

// The definition, written down once more without any haste.
std::vector<Rows> SlowClasses(const std::vector<RankMemory>& ranks) {
  std::vector<Rows> classes;
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    bool joined = false;
    for (Rows& members : classes) {
      const RankMemory& leader = ranks[members.front()];
      std::vector<std::int64_t> here(100);
      std::vector<std::int64_t> there(100);
      for (const RowBytes& r : ranks[row].rows) {
        here[r.key] = r.bytes;
      }
      for (const RowBytes& r : leader.rows) {
        there[r.key] = r.bytes;
      }
      std::int64_t apart = 0;
      for (std::size_t key = 0; key < here.size(); ++key) {
        apart += std::abs(here[key] - there[key]);
      }
      const std::int64_t total =
          std::max(std::accumulate(here.begin(), here.end(), std::int64_t{0}),
                   std::accumulate(there.begin(), there.end(), std::int64_t{0}));
      if (apart <= std::max(total / 100, 64 * kMebibyte)) {
        members.push_back(row);
        joined = true;
        break;
      }
    }
    if (!joined) {
      classes.push_back({row});
    }
  }
  return classes;
}

TEST(ClassifyRanks, AgreesWithTheDefinition) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    Job job;
    for (int rank = 0; rank < 40; ++rank) {
      // Many pairs lie near the limit. Two rows differ, so that no rank is another's outlier.
      const auto more = static_cast<std::int64_t>(random() % 5) * 33 * kMebibyte;
      const auto other = static_cast<std::int64_t>(random() % 5) * 33 * kMebibyte;
      job.Add(2, {{kEmbedding, more + kMebibyte}, {kLeak, other + kMebibyte}});
    }
    const auto ranks = job.Ranks();
    const RankClasses found = job.Classes();
    std::vector<Rows> classes;
    bool joined = false;
    for (const RankOutlier& outlier : found.outliers) {
      joined = joined || outlier.alone;
    }
    for (const RankClass& of_class : found.classes) {
      classes.push_back(of_class.members);
    }
    if (!joined) {
      ASSERT_EQ(classes, SlowClasses(ranks));
    }
  }
}

Values Gaussian(std::mt19937_64& random, std::size_t count) {
  std::normal_distribution<double> noise(0, 1e12);  // the tolerance is as nothing beside it
  Values values(count);
  std::generate(values.begin(), values.end(), [&] { return std::llround(noise(random)); });
  return values;
}

// In 1 % of groups of mere noise a value may be called an outlier; it is aimed at 0.4 %, so that no
// size has more than ten of 1,000.
TEST(Outliers, FindsNoneInNoise) {
  constexpr int kSeeds = 1000;
  constexpr int kMaxFalseShare = 10;
  for (const std::size_t count : {4U, 5U, 6U, 7U, 8U, 9U, 11U, 12U, 16U, 32U, 64U, 128U}) {
    int wrong = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      std::mt19937_64 random(static_cast<std::uint64_t>(seed) * 1000 + count);
      wrong += Outliers(Gaussian(random, count), {.percent = 0, .bytes = 0}).empty() ? 0 : 1;
    }
    EXPECT_LE(wrong, kMaxFalseShare) << count;
    RecordProperty("false_outliers_of_" + std::to_string(count), wrong);
  }
}

// Of many values the largest lies farther out: a factor that suits 512 would be wrong in one of ten
// groups of 10,000.
TEST(Outliers, FindsNoneInTheNoiseOfThousands) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    wrong += Outliers(Gaussian(random, 10'000), {.percent = 0, .bytes = 0}).empty() ? 0 : 1;
  }
  EXPECT_LE(wrong, 4);
}

TEST(Outliers, FindsTheOneInNoise) {
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    Values values = Gaussian(random, 32);
    values[7] = 100'000'000'000'000;  // 100 standard deviations
    const Rows found = Outliers(values);
    ASSERT_TRUE(std::find(found.begin(), found.end(), 7) != found.end());
  }
}

TEST(Outliers, KnowsEqualValues) {
  for (std::size_t count = 0; count < 130; ++count) {
    Values values(count, 70 * kGiB);
    EXPECT_TRUE(Outliers(values).empty());
    if (count < 3) {
      continue;
    }
    values[count / 2] += kGiB;
    EXPECT_EQ(Outliers(values), count > 3 ? Rows{count / 2} : Rows{});
    values[count / 2] -= 2 * kGiB;
    EXPECT_EQ(Outliers(values), count > 3 ? Rows{count / 2} : Rows{});
    values[count / 2] += kGiB + 700 * kMebibyte;  // within 1 %
    EXPECT_TRUE(Outliers(values).empty());
  }
}

// Jobs of any shape with as many leaks as are exceptions: exactly these are found.
TEST(ClassifyRanks, FindsExactlyWhatWasBuilt) {
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(static_cast<std::uint_fast32_t>(seed));
    const int stages = 1 << (random() % 3);
    const int per_stage = 8 << (random() % 3);
    Job job;
    for (int stage = 0; stage < stages; ++stage) {
      const int layers = 4 + static_cast<int>(random() % 3);
      const std::vector<RowBytes> embedding{{kEmbedding, 900 * kMebibyte}};
      job.AddMany(per_stage, layers, stage == 0 ? embedding : std::vector<RowBytes>{});
    }
    const bool leaks = random() % 2 == 0;
    const std::size_t rank = random() % job.size();
    const auto bytes = static_cast<std::int64_t>(200 + random() % 2000) * kMebibyte;
    if (leaks) {
      job.rows(rank).push_back({kLeak, bytes});
    }
    // As real ranks differ, if they do: far below the tolerance.
    for (std::size_t i = 0; i < job.size(); ++i) {
      job.rows(i)[0].bytes += static_cast<std::int64_t>(random() % 2) * kMebibyte / 2;
    }
    const RankClasses found = job.Classes();
    ASSERT_EQ(found.outliers.size(), leaks ? 1 : 0) << seed;
    ASSERT_LE(found.classes.size(), static_cast<std::size_t>(stages)) << seed;
    if (leaks) {
      ASSERT_EQ(found.outliers[0].row, rank) << seed;
      ASSERT_EQ(found.outliers[0].because[0].key, kLeak) << seed;
      ASSERT_EQ(found.outliers[0].because[0].between, bytes) << seed;
    }
    const RankPatternKind kind = found.structure.kind;
    ASSERT_TRUE(kind == RankPatternKind::kAlike || kind == RankPatternKind::kPipelineStages ||
                kind == RankPatternKind::kHalves)
        << seed;
  }
}

}  // namespace
}  // namespace memtool
