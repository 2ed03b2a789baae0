// A vector of rows of which there may be many millions. When it grows, large ones are moved by the
// system, page by page: a std::vector copies them, and holds all of them twice while it does.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace memtool {

// The subset of std::vector's interface that is used here, with the same meaning. Room that is not
// used takes no memory, or at most 2 MiB.
template <class Row>
class RowVector {
  static_assert(std::is_trivially_copyable_v<Row> && alignof(Row) <= alignof(std::max_align_t));

 public:
  using value_type = Row;
  using iterator = Row*;
  using const_iterator = const Row*;

  RowVector() = default;
  RowVector(std::initializer_list<Row> rows) { insert(end(), rows.begin(), rows.end()); }
  RowVector(const RowVector& other) { insert(end(), other.begin(), other.end()); }
  RowVector(RowVector&& other) noexcept { swap(other); }
  RowVector& operator=(RowVector other) noexcept {
    swap(other);
    return *this;
  }
  ~RowVector() { Free(); }
  void swap(RowVector& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  Row* data() { return rows_; }
  [[nodiscard]] const Row* data() const { return rows_; }
  iterator begin() { return rows_; }
  iterator end() { return rows_ + size_; }
  [[nodiscard]] const_iterator begin() const { return rows_; }
  [[nodiscard]] const_iterator end() const { return rows_ + size_; }
  Row& operator[](std::size_t row) { return rows_[row]; }
  const Row& operator[](std::size_t row) const { return rows_[row]; }
  Row& front() { return rows_[0]; }
  [[nodiscard]] const Row& front() const { return rows_[0]; }
  Row& back() { return rows_[size_ - 1]; }
  [[nodiscard]] const Row& back() const { return rows_[size_ - 1]; }

  void push_back(const Row& row) {
    const Row copy = row;  // it may lie in this vector
    if (size_ == capacity_) {
      Grow(size_ + 1);
    }
    std::construct_at(rows_ + size_++, copy);
  }
  template <class... Parts>
  Row& emplace_back(Parts&&... parts) {
    push_back(Row(std::forward<Parts>(parts)...));
    return back();
  }
  // `at` must be end(), and the range not in this vector.
  template <class Iterator>
  void insert(const_iterator /*at*/, Iterator first, Iterator last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    if (count > capacity_ - size_) {
      Grow(Sum(size_, count));
    }
    std::uninitialized_copy(first, last, end());
    size_ += count;
  }
  void reserve(std::size_t count) {
    if (count > capacity_) {
      SetCapacity(count);
    }
  }
  void resize(std::size_t count) {
    if (count > capacity_) {
      Grow(count);
    }
    if (count > size_) {
      std::uninitialized_value_construct(end(), rows_ + count);
    }
    size_ = count;
  }
  void clear() { size_ = 0; }
  // Rows from `first` up to `last` are not read again: their memory goes back, as far as it can.
  void Forget([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t last) {
#ifndef __EMSCRIPTEN__
    if (OwnPages(capacity_)) {
      const std::size_t begin = (first * sizeof(Row) + kLargePage - 1) / kLargePage * kLargePage;
      const std::size_t end = last * sizeof(Row) / kLargePage * kLargePage;
      if (begin < end) {
        ::madvise(static_cast<char*>(static_cast<void*>(rows_)) + begin, end - begin,
                  MADV_DONTNEED);
      }
    }
#endif
  }

 private:
  // From here on it has pages of its own: large ones, where the system has them, of which one costs
  // less than the 128 and more that it stands for.
  static constexpr std::size_t kOwnPages = std::size_t{1} << 19U;
  static constexpr std::size_t kLargePage = std::size_t{1} << 21U;
  static constexpr std::size_t kMin = 16;

  static std::size_t Sum(std::size_t a, std::size_t b) {
    if (b > std::numeric_limits<std::size_t>::max() - a) {
      throw std::bad_alloc();
    }
    return a + b;
  }
  static bool OwnPages(std::size_t capacity) {
    return capacity * sizeof(Row) >= kOwnPages;
  }
  // Bytes of the pages that hold so many rows.
  static std::size_t PageBytes(std::size_t capacity) {
    return (capacity * sizeof(Row) + kLargePage - 1) / kLargePage * kLargePage;
  }

  void Grow(std::size_t least) {
    SetCapacity(std::max({least, capacity_ * 2, kMin}));
  }

  void SetCapacity(std::size_t capacity) {
    if (capacity > std::numeric_limits<std::size_t>::max() / sizeof(Row) / 2) {
      throw std::bad_alloc();
    }
    const std::size_t bytes = OwnPages(capacity) ? PageBytes(capacity) : capacity * sizeof(Row);
    void* const made = OwnPages(capacity) ? Pages(bytes) : std::realloc(rows_, bytes);
    if (made == nullptr) {
      throw std::bad_alloc();
    }
    rows_ = static_cast<Row*>(made);
    capacity_ = bytes / sizeof(Row);
  }

  void* Pages(std::size_t bytes) {
#ifdef __EMSCRIPTEN__
    return std::realloc(rows_, bytes);
#else
    if (OwnPages(capacity_)) {
      void* const moved = ::mremap(rows_, PageBytes(capacity_), bytes, MREMAP_MAYMOVE);
      return moved == MAP_FAILED ? nullptr : Large(moved, bytes);
    }
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
      return nullptr;
    }
    Large(pages, bytes);  // before the first is touched
    if (rows_ != nullptr) {
      std::memcpy(pages, rows_, size_ * sizeof(Row));
      std::free(rows_);
    }
    return pages;
#endif
  }
#ifndef __EMSCRIPTEN__
  static void* Large(void* pages, std::size_t bytes) {
    ::madvise(pages, bytes, MADV_HUGEPAGE);
    return pages;
  }
#endif

  void Free() {
#ifndef __EMSCRIPTEN__
    if (OwnPages(capacity_)) {
      ::munmap(rows_, PageBytes(capacity_));
      return;
    }
#endif
    std::free(rows_);
  }

  Row* rows_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace memtool
