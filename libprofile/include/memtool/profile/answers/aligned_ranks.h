// What changed between two runs of a job, rank by rank: each rank of the one is compared with the
// same rank of the other, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/answers/aligned.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/shared_text.h"

namespace memtool {

// Bytes: at the peaks of the step whose peak is the highest in the new run; of the whole runs where
// they do not correspond.
struct AlignedRank {
  std::int64_t rank = 0;
  std::string base_path;
  std::string path;
  std::int64_t base = 0;
  std::int64_t now = 0;
  std::optional<std::int64_t> step;  // of the new run
  std::size_t steps = 0;             // how many were compared
  double partners = 0;               // share of the allocations that have one
  bool compared = false;
  // The row with the largest difference; without a name nothing differs.
  SharedText name;
  SharedText file;
  std::int64_t by = 0;
  std::string problem;  // why the two are not compared, or nothing

  [[nodiscard]] std::int64_t delta() const { return SaturatingSubtract(now, base); }
};

struct AlignedRanksAnswer {
  AnswerHead head{.question = "diff-align-ranks", .unit = "bytes"};
  std::vector<AlignedRank> ranks;  // the largest difference first, then by rank
  std::size_t grew = 0;
  std::size_t shrank = 0;
  std::size_t compared = 0;
  std::vector<std::int64_t> only_base;  // ranks of one run alone, ascending
  std::vector<std::int64_t> only_new;
};

// The row of one rank: what AlignRuns says of its two files.
AlignedRank MakeRank(std::int64_t rank, const AlignedAnswer& aligned);
// Orders and counts rows.
AlignedRanksAnswer JoinAlignedRanks(std::vector<AlignedRank> ranks);
std::span<const Field<AlignedRank>> AlignedRankFields();
AnswerView MakeView(const AlignedRanksAnswer& answer);

}  // namespace memtool
