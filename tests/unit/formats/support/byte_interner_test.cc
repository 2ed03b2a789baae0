#include "support/byte_interner.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>

#include "support/files.h"

namespace memtool::formats {
namespace {

using test::AsView;
using test::Bytes;
using test::ToBytes;

std::span<const std::byte> Span(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(ByteInterner, GivesEqualBytesEqualDenseIds) {
  ByteInterner interner;
  EXPECT_EQ(interner.Intern(Span("a")), 0U);
  EXPECT_EQ(interner.Intern({}), 1U);
  EXPECT_EQ(interner.Intern(Span(std::string_view("a\0", 2))), 2U);
  EXPECT_EQ(interner.Intern(Span("a")), 0U);
  EXPECT_EQ(interner.Intern({}), 1U);
  EXPECT_EQ(interner.size(), 3U);
  EXPECT_EQ(AsView(interner[0]), "a");
  EXPECT_TRUE(interner[1].empty());
}

TEST(ByteInterner, AgreesWithAMapOverGrowth) {
  ByteInterner interner;
  std::map<std::string, std::uint32_t> known;
  std::mt19937 random(3);
  for (int i = 0; i < 300'000; ++i) {
    const std::string key = "k" + std::to_string(random() % 60'000);
    const auto [at, added] = known.try_emplace(key, static_cast<std::uint32_t>(known.size()));
    ASSERT_EQ(interner.Intern(Span(key)), at->second);
  }
  EXPECT_EQ(interner.size(), known.size());
  for (const auto& [key, id] : known) {
    ASSERT_EQ(AsView(interner[id]), key);
  }
}

TEST(ByteInterner, BatchesAgreeWithSingles) {
  ByteInterner one;
  ByteInterner many;
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    // Also duplicates within a batch, and every size from 0 to a full one.
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < random() % (ByteInterner::kBatch + 1); ++i) {
      texts.push_back(std::string(random() % 40, 'x') + std::to_string(random() % 9000));
    }
    std::vector<std::span<const std::byte>> keys;
    keys.reserve(texts.size());
    for (const std::string& text : texts) {
      keys.push_back(Span(text));
    }
    std::array<std::uint32_t, ByteInterner::kBatch> ids{};
    many.InternBatch(keys, ids.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(ids[i], one.Intern(keys[i]));
    }
  }
  EXPECT_EQ(one.size(), many.size());
}

TEST(ByteInterner, TellsKeysApartThatDifferInOneByte) {
  ByteInterner interner;
  std::string key(100, 'a');
  std::uint32_t next = 0;
  for (std::size_t at = 0; at < key.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      if (value != 'a') {
        key[at] = static_cast<char>(value);
        ASSERT_EQ(interner.Intern(Span(key)), next++);
      }
    }
    key[at] = 'a';
  }
}

TEST(ByteInterner, KeepsLongStrings) {
  ByteInterner interner;
  std::vector<std::string> keys;
  for (const std::size_t size : {std::size_t{1} << 20U, (std::size_t{1} << 20U) + 1,
                                 std::size_t{5} << 20U, (std::size_t{1} << 20U) - 1}) {
    keys.emplace_back(size, static_cast<char>('a' + keys.size()));
    EXPECT_EQ(interner.Intern(Span(keys.back())), keys.size() - 1);
  }
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(AsView(interner[i]), keys[i]);
  }
}

}  // namespace
}  // namespace memtool::formats
