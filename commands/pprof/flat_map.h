// uint64 → uint32, open addressing: samples and edges are looked up once per frame.
#pragma once

#include <cstdint>
#include <vector>

namespace memtool::commands::pprof {

class FlatMap {
 public:
  FlatMap() : slots_(kFirstSize) {}

  // The value of `key`, set to `fresh` when the key is new. The reference holds until the next
  // call.
  std::uint32_t& At(std::uint64_t key, std::uint32_t fresh, bool* added) {
    if (2 * (size_ + 1) > slots_.size()) {
      Grow();
    }
    Slot& slot = Find(key);
    *added = !slot.used;
    if (!slot.used) {
      slot = {key, fresh, true};
      ++size_;
    }
    return slot.value;
  }

 private:
  static constexpr std::size_t kFirstSize = 64;  // a power of two
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
    bool used = false;
  };

  Slot& Find(std::uint64_t key) {
    std::uint64_t hash = key * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32U;
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (!slots_[at].used || slots_[at].key == key) {
        return slots_[at];
      }
    }
  }
  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.used) {
        Find(slot.key) = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace memtool::commands::pprof
