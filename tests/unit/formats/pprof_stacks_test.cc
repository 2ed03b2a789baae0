// Equal stacks get one id, whatever is hashed; ids of the file become rows, or are said to be
// wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "pprof/stack_interner.h"
#include "support/read_error.h"

namespace memtool::formats {
namespace {

using pprof::IdMap;
using pprof::StackInterner;
using Locations = std::vector<std::uint64_t>;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> Packed(const Locations& locations) {
  std::vector<std::byte> bytes;
  for (std::uint64_t value : locations) {
    for (; value >= 0x80; value >>= 7U) {
      bytes.push_back(static_cast<std::byte>(value | 0x80U));
    }
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

StackId Intern(StackInterner& interner, const std::vector<std::byte>& bytes) {
  const std::span<const std::byte> stack(bytes);
  StackId id;
  interner.InternBatch({&stack, 1}, &id);
  return id;
}

// Rows as numbers, innermost first.
std::vector<std::uint32_t> Rows(std::span<const LocationId> stack) {
  std::vector<std::uint32_t> rows;
  for (const LocationId location : stack) {
    rows.push_back(location.value());
  }
  return rows;
}

IdMap MapOf(const Locations& ids) {
  IdMap map;
  map.Build(ids);
  return map;
}

std::string WhyNot(StackInterner& interner, const IdMap& rows) {
  for (std::uint32_t id = 0; id < interner.size(); ++id) {
    try {
      interner.Resolve(StackId(id), rows);
    } catch (const ReadError& error) {
      return std::to_string(id) + ": " + error.error().message;
    }
  }
  return "";
}

TEST(StackInterner, TellsManyStacksApart) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same stacks in every run
  std::map<std::vector<std::byte>, std::uint32_t> known;
  StackInterner interner;
  std::vector<std::vector<std::byte>> batch;
  for (int i = 0; i < 100'000; ++i) {
    Locations locations(random() % 40);
    for (std::uint64_t& location : locations) {
      location = 1 + random() % (i % 2 == 0 ? 3 : 30'000);
    }
    batch.push_back(Packed(locations));
    if (batch.size() < StackInterner::kBatch) {
      continue;
    }
    const std::vector<std::span<const std::byte>> stacks(batch.begin(), batch.end());
    std::array<StackId, StackInterner::kBatch> ids;
    interner.InternBatch(stacks, ids.data());
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const auto id = known.emplace(batch[k], static_cast<std::uint32_t>(known.size())).first;
      ASSERT_EQ(ids[k].value(), id->second);
    }
    batch.clear();
  }
  EXPECT_EQ(interner.size(), known.size());
}

TEST(StackInterner, ResolvesIdsOfEverySize) {
  const Locations ids{1,
                      127,
                      128,
                      16'383,
                      16'384,
                      0xbfffffff,
                      0xc0000000,
                      0xffffffff,
                      std::uint64_t{1} << 32U,
                      ~std::uint64_t{0}};
  Locations back(ids.rbegin(), ids.rend());
  Locations many(300, 128);  // four to a word
  many.push_back(1);
  StackInterner interner;
  for (const Locations& stack : {ids, Locations{}, back, many}) {
    Intern(interner, Packed(stack));
  }
  EXPECT_EQ(WhyNot(interner, MapOf(ids)), "");
  const auto stacks = std::move(interner).Take();
  EXPECT_THAT(Rows(stacks[StackId(0U)]), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Rows(stacks[StackId(1U)]), ElementsAre());
  EXPECT_THAT(Rows(stacks[StackId(2U)]), ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  std::vector<std::uint32_t> rows(300, 2);
  rows.push_back(0);
  EXPECT_EQ(Rows(stacks[StackId(3U)]), rows);
}

TEST(StackInterner, SaysWhatIsWrongFirst) {
  const IdMap rows = MapOf({1, 2});
  std::vector<std::byte> endless = Packed({1});
  endless.insert(endless.end(), 11, std::byte{0xff});
  std::vector<std::byte> unknown_first = Packed({7});
  unknown_first.push_back(std::byte{0x80});

  StackInterner unknown;
  Intern(unknown, Packed({1, 2}));
  Intern(unknown, Packed({2, 3}));
  Intern(unknown, endless);
  EXPECT_EQ(WhyNot(unknown, rows), "1: refers to location id 3, which does not exist");

  StackInterner malformed;
  Intern(malformed, endless);
  Intern(malformed, Packed({3}));
  EXPECT_THAT(WhyNot(malformed, rows), HasSubstr("0: varint does not fit 64 bits"));

  // What follows the first is not looked at, however much of it there is.
  StackInterner many;
  for (std::uint64_t i = 1; i < 1000; ++i) {
    std::vector<std::byte> stack = Packed({i});
    stack.push_back(std::byte{0x80});
    Intern(many, stack);
  }
  EXPECT_EQ(many.size(), 999U);
  EXPECT_THAT(WhyNot(many, rows), HasSubstr("0: needs 1 more byte"));

  StackInterner both;
  Intern(both, unknown_first);
  EXPECT_EQ(WhyNot(both, rows), "0: refers to location id 7, which does not exist");

  StackInterner zero;
  Intern(zero, Packed({0}));
  EXPECT_EQ(WhyNot(zero, rows), "0: refers to location id 0, which does not exist");
}

}  // namespace
}  // namespace memtool::formats
