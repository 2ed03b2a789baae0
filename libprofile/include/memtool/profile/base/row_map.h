// Hash map from 64-bit keys (addresses, pairs of ids) to 32-bit rows, with removal: the inner loop
// of replaying, and of sums over samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_vector.h"

namespace memtool {

class RowMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  RowMap() { slots_.resize(kFirst); }

  // Sets the row of a key; returns the row that it had, or kNone.
  std::uint32_t Put(std::uint64_t key, std::uint32_t row) {
    if ((used_ + 1) * 2 > slots_.size()) {
      Grow();
    }
    Slot& slot = slots_[Find(key)];
    const std::uint32_t before = slot.row;
    used_ += before == kNone ? 1 : 0;
    slot = {key, row};
    return before;
  }
  // The row of a key; `fresh`, and it is kept, where it has none.
  std::uint32_t GetOrPut(std::uint64_t key, std::uint32_t fresh) {
    if ((used_ + 1) * 2 > slots_.size()) {
      Grow();
    }
    Slot& slot = slots_[Find(key)];
    if (slot.row == kNone) {
      ++used_;
      slot = {key, fresh};
    }
    return slot.row;
  }
  // Of rows whose keys are more than a number: the one of this hash that `is_equal`, else `fresh`,
  // which is kept. What shares a hash, hardly ever anything, is under the numbers that follow.
  template <class IsEqual>
  std::uint32_t GetOrPut(std::uint64_t hash, std::uint32_t fresh, IsEqual is_equal) {
    std::uint32_t row = GetOrPut(hash, fresh);
    while (row != fresh && !is_equal(row)) {
      row = GetOrPut(++hash, fresh);
    }
    return row;
  }
  [[nodiscard]] std::uint32_t Get(std::uint64_t key) const { return slots_[Find(key)].row; }
  // Forgets a key; returns the row that it had, or kNone.
  std::uint32_t Take(std::uint64_t key) {
    std::size_t hole = Find(key);
    const std::uint32_t row = slots_[hole].row;
    if (row == kNone) {
      return kNone;
    }
    --used_;
    // Close the gap, so that probing never needs tombstones.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; slots_[at].row != kNone; at = (at + 1) & mask) {
      const std::size_t home = Home(slots_[at].key);
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole].row = kNone;
    return row;
  }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr std::size_t kFirst = 64;
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t row = kNone;
  };

  [[nodiscard]] std::size_t Home(std::uint64_t key) const {
    return static_cast<std::size_t>(HashNumber(key)) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t Find(std::uint64_t key) const {
    std::size_t at = Home(key);
    while (slots_[at].row != kNone && slots_[at].key != key) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  void Grow() {
    RowVector<Slot> old;
    old.resize(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.row != kNone) {
        slots_[Find(slot.key)] = slot;
      }
    }
  }

  RowVector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace memtool
