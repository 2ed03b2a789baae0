// What an input could know of a table's hash: nothing that makes its keys share places.
#include "memtool/profile/base/key_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool {
namespace {

constexpr std::size_t kKeys = 20'000;
// Of kKeys random places in as many: the fullest has 8 or so, and 20 once in 10¹⁴ tables.
constexpr std::size_t kMostAtOnePlace = 20;

template <class Table>
std::size_t FullestPlace(const Table& table) {
  std::size_t most = 0;
  for (std::size_t place = 0; place < table.bucket_count(); ++place) {
    most = std::max(most, table.bucket_size(place));
  }
  return most;
}

// The places that a search for each key looks at, one after the other, in a table of a power of
// two that is half full: 1.5 per key when hashes are random.
double ProbesPerKey(const std::vector<std::uint64_t>& hashes) {
  std::size_t places = 1;
  while (places < 2 * hashes.size()) {
    places *= 2;
  }
  std::vector<bool> taken(places);
  std::size_t probes = 0;
  for (const std::uint64_t hash : hashes) {
    std::size_t at = hash & (places - 1);
    for (++probes; taken[at]; ++probes) {
      at = (at + 1) & (places - 1);
    }
    taken[at] = true;
  }
  return static_cast<double>(probes) / static_cast<double>(hashes.size());
}

constexpr double kMostProbes = 3;

std::vector<std::uint64_t> Multiples(std::uint64_t factor) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 1; i <= kKeys; ++i) {
    keys.push_back(i * factor);
  }
  return keys;
}

void ExpectSpread(const std::vector<std::uint64_t>& keys, std::uint64_t factor) {
  KeySet<std::uint64_t> table;
  table.reserve(keys.size());
  std::vector<std::uint64_t> hashes;
  for (const std::uint64_t key : keys) {
    table.insert(key);
    hashes.push_back(HashNumber(key));
  }
  EXPECT_LE(FullestPlace(table), kMostAtOnePlace) << factor;
  EXPECT_LE(ProbesPerKey(hashes), kMostProbes) << factor;
}

// What std::hash, the number itself, puts at one place of that table.
TEST(KeyHash, MultiplesOfTheNumberOfPlacesDoNotShareOne) {
  KeySet<std::uint64_t> table;
  table.reserve(kKeys);
  const std::size_t places = table.bucket_count();
  std::unordered_set<std::uint64_t> known;
  known.reserve(kKeys);
  ASSERT_EQ(known.bucket_count(), places);
  for (const std::uint64_t key : {1 * places, 2 * places, 3 * places, 1'000 * places}) {
    known.insert(key);
  }
  EXPECT_EQ(FullestPlace(known), known.size());
  ExpectSpread(Multiples(places), places);
}

// A product modulo 2⁶⁴ has the zeros of its factors: shifting it right moves them, no more.
TEST(KeyHash, NumbersOfFewBitsAnywhereDoNotSharePlaces) {
  for (unsigned shift = 0; shift <= 49; shift += 7) {
    ExpectSpread(Multiples(std::uint64_t{1} << shift), shift);
  }
  for (const std::uint64_t factor : {std::uint64_t{172933}, std::uint64_t{85229} * 512,
                                     std::uint64_t{0x9e3779b97f4a7c15}, ~std::uint64_t{0}}) {
    ExpectSpread(Multiples(factor), factor);
  }
}

// Sets of two numbers after which every step of a fixed mixer is undone.
std::uint64_t MixKnown(std::uint64_t hash, std::uint64_t next) {
  hash = (hash ^ next) * 0xff51afd7ed558ccdU;
  return hash ^ hash >> 32U;
}

std::vector<std::array<std::uint64_t, 2>> PairsOfOneKnownHash() {
  std::vector<std::array<std::uint64_t, 2>> pairs;
  for (std::uint64_t i = 1; i <= kKeys; ++i) {
    pairs.push_back({i, MixKnown(7, i) ^ 42});  // whatever i is, 42 goes into the second step
  }
  return pairs;
}

TEST(KeyHash, NumbersThatUndoAKnownMixerDoNotShareAHash) {
  std::set<std::uint64_t> known;
  std::vector<std::uint64_t> hashes;
  for (const auto& [first, second] : PairsOfOneKnownHash()) {
    known.insert(MixKnown(MixKnown(7, first), second));
    hashes.push_back(HashNumber(HashNumber(7 ^ first) ^ second));
  }
  EXPECT_EQ(known.size(), 1U);
  EXPECT_LE(ProbesPerKey(hashes), kMostProbes);
}

TEST(KeyHash, PairsAndTuplesDoNotSharePlaces) {
  KeySet<std::pair<std::uint64_t, std::uint64_t>> crafted;
  KeySet<std::pair<std::uint64_t, std::uint64_t>> sums;
  KeySet<std::tuple<StringId, StringId, std::int64_t>> grid;
  for (const auto& [first, second] : PairsOfOneKnownHash()) {
    crafted.emplace(first, second);
    sums.emplace(first, kKeys - first);
    grid.emplace(StringId(first % 100), StringId(first / 100), 0);
  }
  EXPECT_LE(FullestPlace(crafted), kMostAtOnePlace);
  EXPECT_LE(FullestPlace(sums), kMostAtOnePlace);
  EXPECT_LE(FullestPlace(grid), kMostAtOnePlace);
}

// Of std::hash, which has the same seed in every process, the low bits are chosen here.
TEST(KeyHash, TextsOfEqualLowBitsDoNotSharePlaces) {
  std::vector<std::uint64_t> hashes;
  std::vector<std::uint64_t> known;
  KeySet<std::string> table;
  for (std::uint64_t i = 0; known.size() < 2'000; ++i) {
    const std::string text = "function_of_a_model_" + std::to_string(i);
    if (const std::size_t hash = std::hash<std::string>()(text); (hash & 0x7fU) == 0) {
      known.push_back(hash >> 7U << 7U);
      hashes.push_back(HashBytes(text));
      table.insert(text);
    }
  }
  EXPECT_GT(ProbesPerKey(known), 10 * kMostProbes);
  EXPECT_LE(ProbesPerKey(hashes), kMostProbes);
  EXPECT_LE(FullestPlace(table), kMostAtOnePlace);
}

// Every size on its own way through HashBytes: no byte and no length is without effect.
TEST(KeyHash, EveryByteAndTheSizeCount) {
  std::set<std::uint64_t> hashes;
  std::size_t texts = 0;
  for (std::size_t size = 0; size <= 100; ++size) {
    std::string text(size, '\0');
    hashes.insert(HashBytes(text));
    ++texts;
    for (char& c : text) {
      c = '\1';
      hashes.insert(HashBytes(text));
      c = '\0';
      ++texts;
    }
  }
  EXPECT_EQ(hashes.size(), texts);
}

TEST(KeyHash, BlocksInAnotherOrderAreAnotherKey) {
  std::vector<std::uint64_t> hashes;
  std::string text(64, 'a');
  for (std::size_t i = 0; i < 8; ++i) {
    text[8 * i] = static_cast<char>('0' + i);
  }
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6, 7};
  do {
    std::string blocks;
    for (const std::size_t block : order) {
      blocks += text.substr(8 * block, 8);
    }
    hashes.push_back(HashBytes(blocks));
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_LE(ProbesPerKey(hashes), kMostProbes);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(KeyHash, RunsOfIdsAreKeys) {
  std::vector<LocationId> stacks;  // of three each
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    stacks.insert(stacks.end(), {LocationId(i % 20), LocationId(i / 20 % 20), LocationId(i / 400)});
  }
  std::vector<std::uint64_t> hashes;
  for (std::size_t at = 0; at < stacks.size(); at += 3) {
    hashes.push_back(HashRows(std::span<const LocationId>(stacks).subspan(at, 3)));
  }
  EXPECT_LE(ProbesPerKey(hashes), kMostProbes);
}

TEST(KeyHash, TextsAreFoundWithoutAString) {
  KeyMap<std::string, int> table;
  table["a name"] = 1;
  EXPECT_EQ(table.find(std::string_view("a name of more").substr(0, 6))->second, 1);
  EXPECT_FALSE(table.contains("another"));
}

TEST(KeyHash, RowsThatShareAHashStayApart) {
  const std::vector<std::string> names{"a", "b", "c"};
  RowMap rows;
  const auto get = [&](std::uint32_t row) {
    return rows.GetOrPut(1, row, [&](std::uint32_t known) { return names[known] == names[row]; });
  };
  EXPECT_EQ(get(0), 0U);
  EXPECT_EQ(get(1), 1U);
  EXPECT_EQ(get(2), 2U);
  EXPECT_EQ(get(1), 1U);
  EXPECT_EQ(rows.size(), 3U);
}

TEST(KeyHash, EachDrawIsAnother) {
  const HashSecret secret = DrawHashSecret();
  EXPECT_NE(secret, DrawHashSecret());
  EXPECT_NE(secret, hash_secret);
  EXPECT_TRUE(std::all_of(secret.begin(), secret.end(), [](auto word) { return word % 2 == 1; }));
}

// The test runs once more, from its start, in a process that ends with what it hashed.
TEST(KeyHashDeathTest, DiffersBetweenProcesses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string here = std::to_string(HashNumber(1)) + " " + std::to_string(HashBytes("text"));
  EXPECT_EXIT(
      {
        std::fprintf(stderr, "hashes %s\n", here.c_str());
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): one thread
      },
      ::testing::ExitedWithCode(0),
      ::testing::AllOf(::testing::HasSubstr("hashes "),
                       ::testing::Not(::testing::HasSubstr(here))));
}

TEST(KeyHash, LabelSetsOfOneKnownHashAreInternedApart) {
  RecordingBuilder builder;
  const StringId key = builder.Intern("key");
  std::vector<LabelSetId> ids;
  for (const auto& [first, second] : PairsOfOneKnownHash()) {
    std::array<Label, 2> labels{};
    for (Label& label : labels) {
      label = {.key = key, .text = {}, .number = 0, .unit = {}, .numeric = true};
    }
    labels[0].number = static_cast<std::int64_t>(first);
    labels[1].number = static_cast<std::int64_t>(second);
    ids.push_back(builder.InternLabels(labels));
    EXPECT_EQ(builder.InternLabels(labels), ids.back());
  }
  EXPECT_EQ(ids.back(), LabelSetId(kKeys));
}

}  // namespace
}  // namespace memtool
