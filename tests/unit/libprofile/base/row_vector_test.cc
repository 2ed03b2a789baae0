// Rows that grow in place; std::vector is the oracle.
#include "memtool/profile/base/row_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace memtool {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

struct Wide {
  std::uint64_t key = 0;
  std::uint32_t other = 7;
};

// Enough that it has pages of its own, and moves them.
constexpr std::size_t kMany = 1'000'000;

TEST(RowVector, KeepsItsRowsWhileItGrows) {
  RowVector<Wide> rows;
  for (std::size_t i = 0; i < kMany; ++i) {
    rows.push_back({.key = i * i, .other = static_cast<std::uint32_t>(i)});
  }
  ASSERT_EQ(rows.size(), kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(rows[i].key, i * i);
    ASSERT_EQ(rows[i].other, i);
  }
  EXPECT_EQ(rows.front().key, 0U);
  EXPECT_EQ(rows.back().other, kMany - 1);
}

TEST(RowVector, DoesAsAStdVectorDoes) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same every time
  RowVector<std::uint32_t> rows;
  std::vector<std::uint32_t> oracle;
  for (int step = 0; step < 3000; ++step) {
    const auto number = static_cast<std::uint32_t>(random());
    const std::size_t size = random() % 1000;
    switch (random() % 5) {
      case 0: {
        const std::vector<std::uint32_t> more(size, number);
        rows.insert(rows.end(), more.begin(), more.end());
        oracle.insert(oracle.end(), more.begin(), more.end());
        break;
      }
      case 1:
        rows.resize(oracle.size() / 2 + size);
        oracle.resize(oracle.size() / 2 + size);
        break;
      case 2:
        rows.reserve(size * 4);
        EXPECT_GE(rows.capacity(), size * 4);
        break;
      case 3:
        rows = RowVector<std::uint32_t>(rows);
        break;
      default:
        rows.push_back(oracle.empty() ? number : rows.front());
        oracle.push_back(oracle.empty() ? number : oracle.front());
    }
    ASSERT_EQ(rows.size(), oracle.size());
  }
  EXPECT_THAT(std::vector<std::uint32_t>(rows.begin(), rows.end()), ElementsAreArray(oracle));
}

// What a smaller vector left in its room must not be seen by a larger one.
TEST(RowVector, NewRowsHaveTheirInitialValues) {
  RowVector<Wide> rows;
  rows.push_back({.key = 5, .other = 5});
  rows.clear();
  EXPECT_TRUE(rows.empty());
  rows.resize(kMany);
  EXPECT_EQ(rows.front().key, 0U);
  EXPECT_EQ(rows.front().other, 7U);
  EXPECT_EQ(rows.back().other, 7U);
}

TEST(RowVector, IsCopiedAndMoved) {
  RowVector<int> rows{1, 2, 3};
  RowVector<int> copy = rows;
  copy.push_back(4);
  EXPECT_THAT(rows, ElementsAre(1, 2, 3));
  EXPECT_THAT(copy, ElementsAre(1, 2, 3, 4));
  rows = std::move(copy);
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 4));
  const RowVector<int> taken = std::move(rows);
  EXPECT_THAT(taken, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(RowVector<int>(), IsEmpty());
}

TEST(RowVector, SaysWhenThereIsNoSuchRoom) {
  RowVector<Wide> rows{{.key = 3}};
  EXPECT_THROW(rows.reserve(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(rows.reserve(SIZE_MAX / sizeof(Wide) / 4), std::bad_alloc);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().key, 3U);
}

}  // namespace
}  // namespace memtool
