// Rows that are added at the end and become one vector when all are there. They are held in pieces
// that do not move: a vector that grows holds all of its rows twice while it does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace memtool::formats {

// `kPiece`: rows per piece; pieces of 64 MiB or so go back to the system as soon as they are freed.
template <class Row, std::size_t kPiece>
class PieceVector {
 public:
  [[nodiscard]] std::size_t size() const {
    return pieces_.empty() ? 0 : (pieces_.size() - 1) * kPiece + pieces_.back().size();
  }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  Row& operator[](std::size_t row) { return pieces_[row / kPiece][row % kPiece]; }
  const Row& operator[](std::size_t row) const { return pieces_[row / kPiece][row % kPiece]; }

  void push_back(const Row& row) {
    // What was reserved is all that a piece takes: never more than kPiece.
    if (pieces_.empty() || pieces_.back().size() == pieces_.back().capacity()) {
      Grow();
    }
    pieces_.back().push_back(row);
  }
  // Removes the rows from `size` on.
  void Shrink(std::size_t size) {
    pieces_.resize(std::min(pieces_.size(), (size + kPiece - 1) / kPiece));
    if (!pieces_.empty()) {
      pieces_.back().resize(std::min(pieces_.back().size(), size - (pieces_.size() - 1) * kPiece));
    }
  }
  // All rows; each piece is freed as soon as it is copied.
  std::vector<Row> Take() && {
    if (pieces_.size() == 1) {
      return std::move(pieces_.front());
    }
    std::vector<Row> rows;
    rows.reserve(size());
    for (std::vector<Row>& piece : pieces_) {
      rows.insert(rows.end(), piece.begin(), piece.end());
      piece = {};
    }
    return rows;
  }

 private:
  static constexpr std::size_t kFirst = std::min<std::size_t>(4096, kPiece);
  static constexpr std::size_t kGrowth = 8;

  // Only the first piece is copied when it grows, so that small inputs ask for little.
  void Grow() {
    if (pieces_.empty() || pieces_.back().size() == kPiece) {
      const std::size_t first = pieces_.empty() ? kFirst : kPiece;
      pieces_.emplace_back().reserve(first);
      return;
    }
    pieces_.back().reserve(std::min(kPiece, pieces_.back().size() * kGrowth));
  }

  std::vector<std::vector<Row>> pieces_;
};

}  // namespace memtool::formats
