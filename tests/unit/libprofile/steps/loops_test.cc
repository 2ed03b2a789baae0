#include "memtool/profile/steps/loops.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memtool {
namespace {

using Sequence = std::vector<std::uint32_t>;

// `times` of the elements from `first` on.
void Repeat(Sequence& sequence, std::uint32_t first, std::size_t period, std::size_t times) {
  for (std::size_t i = 0; i < period * times; ++i) {
    sequence.push_back(first + static_cast<std::uint32_t>(i % period));
  }
}

// What a loop promises, element by element; and whether it could be longer.
void CheckLoops(const Sequence& sequence, const std::vector<Loop>& loops) {
  std::size_t end = 0;
  for (const Loop& loop : loops) {
    EXPECT_GE(loop.begin, end);
    EXPECT_GE(loop.repetitions(), kMinRepetitions);
    EXPECT_GE(loop.length, kMinLoopLength);
    ASSERT_LE(loop.end(), sequence.size());
    for (std::size_t i = loop.begin; i + loop.period < loop.end(); ++i) {
      ASSERT_EQ(sequence[i], sequence[i + loop.period]);
    }
    end = loop.end();
  }
}

TEST(FindLoops, LayersWithWhatSurroundsThem) {
  Sequence sequence{1, 2, 3};
  Repeat(sequence, 100, 64, 32);
  sequence.insert(sequence.end(), {4, 5, 6, 7});
  Repeat(sequence, 300, 109, 32);
  Repeat(sequence, 900, 14, 83);
  const std::vector<Loop> loops = FindLoops(sequence);
  CheckLoops(sequence, loops);
  ASSERT_EQ(loops.size(), 3U);
  EXPECT_EQ(loops[0].begin, 3U);
  EXPECT_EQ(loops[0].period, 64U);
  EXPECT_EQ(loops[0].repetitions(), 32U);
  EXPECT_EQ(loops[1].period, 109U);
  EXPECT_EQ(loops[1].repetitions(), 32U);
  EXPECT_EQ(loops[2].period, 14U);
  EXPECT_EQ(loops[2].repetitions(), 83U);
  EXPECT_EQ(FoldedLength(sequence.size(), loops), 3U + 64 + 4 + 109 + 14);
}

TEST(FindLoops, TheShortestPeriod) {
  Sequence sequence;
  Repeat(sequence, 5, 1, 40);
  const std::vector<Loop> loops = FindLoops(sequence);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].period, 1U);
  EXPECT_EQ(loops[0].repetitions(), 40U);
}

TEST(FindLoops, TwoTimesIsNoLoop) {
  Sequence sequence;
  Repeat(sequence, 1, 50, 2);
  EXPECT_TRUE(FindLoops(sequence).empty());
  EXPECT_TRUE(FindLoops({}).empty());
}

TEST(FindLoops, ALastRepetitionMayBeCutShort) {
  Sequence sequence;
  Repeat(sequence, 1, 20, 4);
  Repeat(sequence, 1, 7, 1);
  const std::vector<Loop> loops = FindLoops(sequence);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].repetitions(), 4U);
  EXPECT_EQ(loops[0].length, 87U);
}

TEST(FindLoops, WhateverTheSequence) {
  std::mt19937 engine(7);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 300; ++round) {
    Sequence sequence;
    const std::uint32_t letters = 1 + random() % 6;
    while (sequence.size() < 400) {
      if (random() % 3 == 0) {
        Repeat(sequence, random() % letters, 1 + random() % 30, 1 + random() % 6);
      } else {
        sequence.push_back(random() % letters);
      }
    }
    CheckLoops(sequence, FindLoops(sequence));
  }
}

}  // namespace
}  // namespace memtool
