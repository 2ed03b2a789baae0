// Rows in pieces, and as one vector at the end.
#include "support/piece_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

namespace memtool::formats {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Pieces = PieceVector<int, 4>;

Pieces Numbers(int count) {
  Pieces pieces;
  for (int i = 0; i < count; ++i) {
    pieces.push_back(i);
  }
  return pieces;
}

TEST(PieceVector, KeepsTheOrderOverPieces) {
  Pieces pieces = Numbers(10);
  ASSERT_EQ(pieces.size(), 10U);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i], static_cast<int>(i));
  }
  EXPECT_THAT(std::move(pieces).Take(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Numbers(3).Take(), ElementsAre(0, 1, 2));
  EXPECT_THAT(Pieces().Take(), IsEmpty());
}

TEST(PieceVector, ShrinksInsideAndAtTheEndsOfPieces) {
  for (const std::size_t size : {9U, 8U, 7U, 5U, 4U, 1U, 0U}) {
    Pieces pieces = Numbers(10);
    pieces.Shrink(size);
    EXPECT_EQ(pieces.size(), size);
    pieces.push_back(70);
    ASSERT_EQ(pieces.size(), size + 1);
    EXPECT_EQ(pieces[size], 70);
    if (size > 0) {
      EXPECT_EQ(pieces[size - 1], static_cast<int>(size) - 1);
    }
  }
  Pieces same = Numbers(5);
  same.Shrink(5);
  EXPECT_EQ(same.size(), 5U);
}

// Rows of more than one growing step stay in place once a piece is full.
TEST(PieceVector, GrowsInSteps) {
  constexpr int kCount = 100'000;
  PieceVector<int, 65'536> pieces;
  for (int i = 0; i < kCount; ++i) {
    pieces.push_back(i);
  }
  const auto rows = std::move(pieces).Take();
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kCount));
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(rows[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace memtool::formats
