#include "memtool/profile/align/fold.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memtool {
namespace {

using Keys = std::vector<std::uint32_t>;

// Partners are equal, rise, and are counted.
void ExpectSoundFold(const Keys& a, const Keys& b, const Alignment& alignment) {
  ASSERT_EQ(alignment.partners.size(), a.size());
  std::int64_t last = -1;
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t partner = alignment.partners[i];
    if (partner == kNoPartner) {
      continue;
    }
    ASSERT_LT(partner, b.size());
    ASSERT_EQ(a[i], b[partner]);
    ASSERT_GT(std::int64_t{partner}, last);
    last = partner;
    ++pairs;
  }
  EXPECT_EQ(alignment.pairs, pairs);
}

// `times` of the elements from `first` on, noted as repeats.
void Repeat(Keys& keys, std::vector<Repeats>& repeats, std::uint32_t first, std::size_t period,
            std::size_t times) {
  repeats.push_back({keys.size(), period, period * times});
  for (std::size_t i = 0; i < period * times; ++i) {
    keys.push_back(first + static_cast<std::uint32_t>(i % period));
  }
}

TEST(AlignByAnchors, WhatIsUniqueHoldsTheRest) {
  const Keys a{1, 1, 1, 100, 2, 2, 101, 3, 3, 3};
  const Keys b{1, 1, 100, 2, 2, 2, 101, 3};
  const Alignment alignment = AlignByAnchors(a, b, 10);
  ExpectSoundFold(a, b, alignment);
  EXPECT_EQ(alignment.pairs, 7U);
  EXPECT_EQ(alignment.partners[3], 2U);
  EXPECT_EQ(alignment.partners[6], 6U);
  EXPECT_TRUE(alignment.complete);
}

TEST(AlignByAnchors, CrossingOnesAreNotAllKept) {
  const Keys a{10, 11, 12, 13};
  const Keys b{13, 10, 11, 12};
  const Alignment alignment = AlignByAnchors(a, b, 10);
  ExpectSoundFold(a, b, alignment);
  EXPECT_EQ(alignment.pairs, 3U);
}

TEST(AlignFolded, LayersThatGotLonger) {
  Keys a{1, 2};
  Keys b{1, 2};
  std::vector<Repeats> in_a;
  std::vector<Repeats> in_b;
  Repeat(a, in_a, 100, 20, 32);
  in_b.push_back({b.size(), 21, 21 * 30});
  for (std::size_t i = 0; i < 21 * std::size_t{30}; ++i) {  // one more in the middle
    const auto at = static_cast<std::uint32_t>(i % 21);
    b.push_back(at < 10 ? 100 + at : at == 10 ? 999 : 99 + at);
  }
  a.push_back(3);
  b.push_back(3);
  const Alignment alignment = AlignFolded(a, in_a, b, in_b, 100);
  ExpectSoundFold(a, b, alignment);
  EXPECT_EQ(alignment.pairs, 3U + 20 * 30);
  EXPECT_TRUE(alignment.complete);
}

TEST(AlignFolded, ATurnedBody) {
  Keys a{50};
  Keys b{51, 52};
  std::vector<Repeats> in_a;
  std::vector<Repeats> in_b;
  Repeat(a, in_a, 100, 8, 6);
  // The same body, begun three elements later.
  in_b.push_back({b.size(), 8, 48});
  for (std::size_t i = 3; i < 51; ++i) {
    b.push_back(100 + static_cast<std::uint32_t>(i % 8));
  }
  const Alignment alignment = AlignFolded(a, in_a, b, in_b, 100);
  ExpectSoundFold(a, b, alignment);
  EXPECT_GE(alignment.pairs, 40U);
}

TEST(AlignFolded, OtherBodiesDoNotCorrespond) {
  Keys a;
  Keys b;
  std::vector<Repeats> in_a;
  std::vector<Repeats> in_b;
  Repeat(a, in_a, 100, 10, 5);
  Repeat(b, in_b, 200, 10, 5);
  EXPECT_EQ(AlignFolded(a, in_a, b, in_b, 100).pairs, 0U);
}

TEST(AlignFolded, WhateverTheSequences) {
  std::mt19937 engine(3);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 500; ++round) {
    Keys sides[2];
    std::vector<Repeats> repeats[2];
    for (int side = 0; side < 2; ++side) {
      for (int part = 0; part < 8; ++part) {
        if (random() % 2 == 0) {
          Repeat(sides[side], repeats[side], random() % 4 * 5, 1 + random() % 6, 2 + random() % 5);
        } else {
          sides[side].push_back(random() % 30);
        }
      }
    }
    ExpectSoundFold(sides[0], sides[1],
                    AlignFolded(sides[0], repeats[0], sides[1], repeats[1], random() % 20));
    ExpectSoundFold(sides[0], sides[1], AlignByAnchors(sides[0], sides[1], random() % 20));
  }
}

}  // namespace
}  // namespace memtool
