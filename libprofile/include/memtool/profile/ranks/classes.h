// Ranks of one set that hold the same, and those that do not hold what their like hold. Pipeline
// stages differ on purpose: classes come first, outliers are looked for inside of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace memtool {

// Bytes of one row (a function of a file, or whatever the caller's keys stand for).
struct RowBytes {
  std::uint64_t key = 0;
  std::int64_t bytes = 0;
};

// A rank at its own peak. Peaks of ranks are of different moments: they are compared, never added.
struct RankMemory {
  std::int64_t rank = 0;
  std::int64_t peak = 0;             // bytes
  std::span<const RowBytes> rows{};  // ascending keys, each once; owned by the caller
};

// Two amounts are alike when they differ by at most the larger of the two.
struct Tolerance {
  std::int64_t percent = 1;                      // of the larger amount; at least 0
  std::int64_t bytes = std::int64_t{64} << 20U;  // at least 0
};

struct RowDifference {
  std::uint64_t key = 0;
  std::int64_t here = 0;     // bytes
  std::int64_t there = 0;    // of the rank that it is compared with
  std::int64_t between = 0;  // here - there
};

// The rows that differ, the largest difference first, at most `most`; of equal ones by key.
std::vector<RowDifference> Differences(std::span<const RowBytes> here,
                                       std::span<const RowBytes> there, std::size_t most);

inline constexpr std::size_t kNoRow = SIZE_MAX;
inline constexpr std::size_t kMaxDifferences = 5;

// Members are rows of the span that was given. Outliers that founded a class of their own are
// members of the class that they exceed.
struct RankClass {
  std::vector<std::size_t> members{};  // ascending ranks
  std::size_t typical = 0;             // the member with the median peak; never an outlier
  std::int64_t median = 0;             // of the members' peaks
  std::int64_t least = 0;
  std::int64_t most = 0;
  // Against the largest class (of equal ones the first): what makes it another class. Empty for
  // that class itself.
  std::vector<RowDifference> differences{};
  // The class of whose rows most have twice the size: fewer ranks share the tensors there.
  std::size_t half_of = kNoRow;
  // So many would be outliers that none is called one: look at the distribution.
  bool wide = false;
};

struct RankOutlier {
  std::size_t row = 0;  // of the span that was given
  std::size_t in_class = 0;
  std::int64_t above = 0;  // its class's median; below 0 where it holds less
  bool alone = false;      // it would be a class of its own, by one row more than the class has
  std::vector<RowDifference> because{};  // against the typical rank of its class
};

// What a sequence of classes over ranks looks like; never more than that.
enum class RankPatternKind : std::uint8_t {
  kAlike,           // one class
  kPipelineStages,  // `stages` blocks of `block` ranks in a row
  kRepeatedStages,  // such blocks, again every `period` ranks
  kFirstOfNode,     // the first rank of every `period` ranks
  kEverySecond,     // `block` ranks and the next `block` ranks, in turn
  kEnds,            // the first rank, those between, the last rank
  kHalves,          // two classes, of which one has everything in half the size
  kNone,            // no rule explains it: show the ranges
};

struct RankStructure {
  RankPatternKind kind = RankPatternKind::kAlike;
  std::int64_t block = 0;   // ranks
  std::int64_t period = 0;  // ranks; for stages without repetition all of them
  std::int64_t stages = 0;  // blocks within a period
};

struct RankClasses {
  std::vector<RankClass> classes{};     // in the order of their first ranks
  std::vector<std::size_t> class_of{};  // per row of the span
  std::vector<RankOutlier> outliers{};  // the largest distance first, then by rank
  RankStructure structure{};
  std::int64_t median = 0;  // of all peaks
};

// `ranks`: ascending, each once. `world`: how many ranks there should be; ranks that are not there
// fit any structure.
RankClasses ClassifyRanks(std::span<const RankMemory> ranks, std::int64_t world,
                          const Tolerance& tolerance = {});

// "0-15,32": the ranks of members as ranges, first and last.
std::vector<std::pair<std::int64_t, std::int64_t>> MakeRanges(std::span<const RankMemory> ranks,
                                                              std::span<const std::size_t> members);

// Which values of a group of like ones are outliers (rows, ascending): those that differ from the
// median by more than `tolerance` of it and, where values are not mostly equal, by more than k
// times 1.4826 times the median distance. k is such that in one of a hundred groups of normally
// distributed values one of them is called an outlier. None among three values or fewer.
std::vector<std::size_t> Outliers(std::span<const std::int64_t> values,
                                  const Tolerance& tolerance = {});

}  // namespace memtool
