// The hash table of interners: open addressing with linear probing, never more than half full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memtool/profile/base/row_vector.h"

namespace memtool::formats {

// A Slot has `entry`, which is 0 where it is free. Hashes are keyed ones (base/key_hash.h).
template <class Slot>
class ProbeTable {
 public:
  ProbeTable() { slots_.resize(kFirstSlots); }

  // Where probing begins.
  [[nodiscard]] const Slot& Home(std::uint64_t hash) const {
    return slots_[static_cast<std::size_t>(hash) & (slots_.size() - 1)];
  }
  // The slot for which `is_equal` holds, or the free one where such a slot belongs.
  template <class IsEqual>
  Slot& Find(std::uint64_t hash, IsEqual is_equal) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (slots_[at].entry != 0 && !is_equal(slots_[at])) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }
  // After each slot that was filled, of `count` by now: slots may move. `hash_of` gives the low
  // half of a slot's hash, or all of it.
  template <class HashOf>
  void Grow(std::size_t count, HashOf hash_of) {
    if (count * 2 <= slots_.size()) {
      return;
    }
    RowVector<Slot> old;
    old.resize(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.entry != 0) {
        Find(hash_of(slot), [](const Slot&) { return false; }) = slot;
      }
    }
  }

 private:
  static constexpr std::size_t kFirstSlots = 256;

  RowVector<Slot> slots_;
};

}  // namespace memtool::formats
