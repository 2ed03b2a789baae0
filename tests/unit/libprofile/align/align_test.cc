#include "memtool/profile/align/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

namespace memtool {
namespace {

using Keys = std::vector<std::uint32_t>;

Keys GetKeys(std::string_view text) {
  return {text.begin(), text.end()};
}

// The length of a longest common subsequence by the textbook's table.
std::uint64_t LongestCommon(const Keys& a, const Keys& b) {
  std::vector<std::uint64_t> row(b.size() + 1, 0);
  for (const std::uint32_t x : a) {
    std::uint64_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::uint64_t above = row[j + 1];
      row[j + 1] = x == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

void ExpectSound(const Keys& a, const Keys& b, const Alignment& alignment) {
  ASSERT_EQ(alignment.partners.size(), a.size());
  std::int64_t last = -1;
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t partner = alignment.partners[i];
    if (partner == kNoPartner) {
      continue;
    }
    ASSERT_LT(partner, b.size());
    EXPECT_EQ(a[i], b[partner]);
    EXPECT_GT(static_cast<std::int64_t>(partner), last);
    last = partner;
    ++pairs;
  }
  EXPECT_EQ(pairs, alignment.pairs);
}

Keys Random(std::mt19937& random, std::size_t size, std::uint32_t kinds) {
  Keys keys(size);
  std::generate(keys.begin(), keys.end(),
                [&] { return static_cast<std::uint32_t>(random() % kinds); });
  return keys;
}

TEST(Align, ThePapersExample) {
  const Keys a = GetKeys("ABCABBA");
  const Keys b = GetKeys("CBABAC");
  const Alignment alignment = Align(a, b);
  ExpectSound(a, b, alignment);
  EXPECT_EQ(alignment.pairs, 4U);
  EXPECT_TRUE(alignment.complete);
}

TEST(Align, NothingIsNothing) {
  EXPECT_EQ(Align({}, {}).pairs, 0U);
  EXPECT_EQ(Align(GetKeys("AB"), {}).partners, Keys({kNoPartner, kNoPartner}));
  EXPECT_TRUE(Align({}, GetKeys("AB")).partners.empty());
}

TEST(Align, IsAsLongAsTheTextbooks) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto kinds = static_cast<std::uint32_t>(1 + random() % 6);
    const Keys a = Random(random, random() % 24, kinds);
    const Keys b = Random(random, random() % 24, kinds);
    const Alignment alignment = Align(a, b);
    ExpectSound(a, b, alignment);
    EXPECT_TRUE(alignment.complete);
    EXPECT_EQ(alignment.pairs, LongestCommon(a, b));
    EXPECT_LE(alignment.pairs, MaxPairs(a, b));
  }
}

TEST(Align, FewEditsInALongSequence) {
  std::mt19937 random(11);
  const Keys a = Random(random, 200'000, 50);
  Keys b = a;
  for (int edit = 0; edit < 100; ++edit) {
    const auto at = static_cast<std::ptrdiff_t>(random() % b.size());
    if (edit % 2 == 0) {
      b.erase(b.begin() + at);
    } else {
      b.insert(b.begin() + at, 1000U);
    }
  }
  const Alignment alignment = Align(a, b);
  ExpectSound(a, b, alignment);
  EXPECT_TRUE(alignment.complete);
  EXPECT_EQ(alignment.pairs, a.size() - 50);
}

TEST(Align, SaysWhereItGaveUp) {
  std::mt19937 random(13);
  const Keys a = Random(random, 500, 1'000'000);
  const Keys b = Random(random, 500, 1'000'000);
  const Alignment alignment = Align(a, b, 100);
  ExpectSound(a, b, alignment);
  EXPECT_FALSE(alignment.complete);
}

TEST(MaxPairs, CountsWhatBothHave) {
  EXPECT_EQ(MaxPairs(GetKeys("AABC"), GetKeys("CAAA")), 3U);
  EXPECT_EQ(MaxPairs({}, GetKeys("A")), 0U);
}

}  // namespace
}  // namespace memtool
