// Rows that are added at the end and become one vector when all are there. They are held in pieces
// that do not move: a vector that grows holds all of its rows twice while it does. Pieces are pages
// of their own, because the system must get them back while the vector is made, and an allocator
// may keep what is freed.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace memtool::formats {

// `kPiece`: rows per piece. A piece takes no memory before it is written to.
template <class Row, std::size_t kPiece>
class PieceVector {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::size_t size() const {
    return pieces_.empty() ? 0 : (pieces_.size() - 1) * kPiece + in_last_;
  }
  Row& operator[](std::size_t row) { return pieces_[row / kPiece][row % kPiece]; }
  const Row& operator[](std::size_t row) const { return pieces_[row / kPiece][row % kPiece]; }

  void push_back(const Row& row) {
    if (pieces_.empty() || in_last_ == kPiece) {
      pieces_.push_back(NewPiece());
      in_last_ = 0;
    }
    std::construct_at(&pieces_.back()[in_last_++], row);
  }
  // Removes the rows from `size` on.
  void Shrink(std::size_t size) {
    if (size >= this->size()) {
      return;
    }
    pieces_.resize((size + kPiece - 1) / kPiece);
    in_last_ = pieces_.empty() ? 0 : size - (pieces_.size() - 1) * kPiece;
  }
  // All rows; each piece is given back as soon as it is copied.
  std::vector<Row> Take() && {
    std::vector<Row> rows;
    rows.reserve(size());
    for (Piece& piece : pieces_) {
      const std::size_t count = &piece == &pieces_.back() ? in_last_ : kPiece;
      rows.insert(rows.end(), piece.get(), piece.get() + count);
      piece.reset();
    }
    pieces_.clear();
    return rows;
  }

 private:
  struct Unmap {
    void operator()(Row* rows) const { ::munmap(rows, kPiece * sizeof(Row)); }
  };
  using Piece = std::unique_ptr<Row[], Unmap>;

  static Piece NewPiece() {
    void* const pages = ::mmap(nullptr, kPiece * sizeof(Row), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
      throw std::bad_alloc();
    }
    return Piece(static_cast<Row*>(pages));
  }

  std::vector<Piece> pieces_;
  std::size_t in_last_ = 0;  // rows of the last piece
};

}  // namespace memtool::formats
