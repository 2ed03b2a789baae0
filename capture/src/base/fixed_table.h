// Hash tables of a fixed size, so that memory stays bounded.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "base/pages.h"

namespace memtool::capture {

// Folds `value` into `hash`.
constexpr std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 32U;
}

// Open addressing over a fixed number of slots that never grows, so that memory stays bounded.
// Pages that no entry has reached cost nothing. Not locked.
template <class Key, std::size_t kSlots>
class FixedTable {
 public:
  static constexpr std::uint32_t kFull = 0;
  static constexpr std::uint32_t kMax = kSlots / 4 * 3;
  struct Slot {
    Key key;
    std::uint32_t id;  // 0 = free
  };

  // The id of `key`; *added when it is new. kFull when there is no room.
  std::uint32_t Find(const Key& key, bool* added) {
    *added = false;
    if (slots_ == nullptr) {
      slots_ = static_cast<Slot*>(MapPages(kSlots * sizeof(Slot)));
      if (slots_ == nullptr) {
        return kFull;
      }
    }
    std::size_t at = static_cast<std::size_t>(key.Hash()) & (kSlots - 1);
    while (slots_[at].id != 0) {
      if (slots_[at].key == key) {
        return slots_[at].id;
      }
      at = (at + 1) & (kSlots - 1);
    }
    if (count_ >= kMax) {
      return kFull;
    }
    *added = true;
    slots_[at].key = key;
    slots_[at].id = ++count_;
    return count_;
  }
  void Clear() {
    if (slots_ != nullptr) {
      munmap(slots_, kSlots * sizeof(Slot));
      slots_ = nullptr;
    }
    count_ = 0;
  }

 private:
  Slot* slots_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace memtool::capture
