#include "ranks/structure.h"

#include <algorithm>
#include <vector>

namespace memtool {

namespace {

using RankPairs = std::span<const std::pair<std::int64_t, std::size_t>>;

// Looking for structure takes time with the number of divisors.
constexpr std::int64_t kMaxWorld = 1'000'000;
// More blocks than this explain nothing that a list of ranges does not.
constexpr std::int64_t kMaxStages = 128;

std::vector<std::int64_t> FindDivisors(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d == 0) {
      divisors.push_back(d);
      if (d != number / d) {
        divisors.push_back(number / d);
      }
    }
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// The class of each of `stages` blocks of `block` ranks that repeat; empty where ranks of one stage
// have different classes.
std::vector<std::size_t> FindStages(RankPairs ranks, std::int64_t block, std::int64_t stages) {
  std::vector<std::size_t> of_stage(static_cast<std::size_t>(stages), kNoRow);
  for (const auto& [rank, of_class] : ranks) {
    std::size_t& known = of_stage[static_cast<std::size_t>(rank / block % stages)];
    if (known != kNoRow && known != of_class) {
      return {};
    }
    known = of_class;
  }
  return of_stage;
}

RankStructure Describe(const std::vector<std::size_t>& of_stage, std::int64_t block,
                       std::int64_t world) {
  const auto stages = static_cast<std::int64_t>(of_stage.size());
  RankStructure found{.kind = RankPatternKind::kRepeatedStages,
                      .block = block,
                      .period = block * stages,
                      .stages = stages};
  const bool others_alike = std::all_of(of_stage.begin() + 1, of_stage.end(), [&](std::size_t c) {
    return c == of_stage[1] && c != of_stage[0];
  });
  if (found.period == world) {
    found.kind = RankPatternKind::kPipelineStages;
  } else if (stages == 2) {
    found.kind = RankPatternKind::kEverySecond;
  } else if (block == 1 && others_alike) {
    found.kind = RankPatternKind::kFirstOfNode;
  }
  return found;
}

// The first and the last rank each for itself, and all between them alike.
bool AreEnds(RankPairs ranks, std::int64_t world) {
  if (ranks.size() < 4 || ranks.front().first != 0 || ranks.back().first != world - 1) {
    return false;
  }
  const RankPairs between = ranks.subspan(1, ranks.size() - 2);
  const std::size_t inner = between.front().second;
  return ranks.front().second != inner && ranks.back().second != inner &&
         std::all_of(between.begin(), between.end(),
                     [inner](const auto& rank) { return rank.second == inner; });
}

}  // namespace

RankStructure FindStructure(RankPairs ranks, std::size_t classes, std::int64_t world) {
  if (classes < 2) {
    return {};
  }
  const RankStructure none{.kind = RankPatternKind::kNone};
  if (ranks.empty()) {
    return none;
  }
  world = std::max(world, ranks.back().first < kMaxWorld ? ranks.back().first + 1 : kMaxWorld + 1);
  if (world > kMaxWorld) {
    return none;
  }
  if (AreEnds(ranks, world)) {
    return {.kind = RankPatternKind::kEnds, .block = 1, .period = world, .stages = 3};
  }
  const std::vector<std::int64_t> divisors = FindDivisors(world);
  for (const std::int64_t stages : divisors) {
    if (stages < 2 || stages > kMaxStages || stages == world) {
      continue;
    }
    // Stages in a row before stages that repeat.
    for (const std::int64_t repetitions : divisors) {
      if (world / stages % repetitions != 0) {
        continue;
      }
      const std::int64_t block = world / stages / repetitions;
      const std::vector<std::size_t> of_stage = FindStages(ranks, block, stages);
      if (!of_stage.empty()) {
        return Describe(of_stage, block, world);
      }
    }
  }
  return none;
}

}  // namespace memtool
