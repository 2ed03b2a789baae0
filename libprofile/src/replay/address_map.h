// Hash map from addresses to 32-bit rows, with removal: the inner loop of replaying.
#pragma once

#include <cstdint>
#include <vector>

namespace memtool {

class AddressMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  AddressMap() : slots_(kFirst) {}

  // Sets the row of an address; returns the row that it had, or kNone.
  std::uint32_t Put(std::uint64_t address, std::uint32_t row) {
    if ((used_ + 1) * 2 > slots_.size()) {
      Grow();
    }
    Slot& slot = slots_[Find(address)];
    const std::uint32_t before = slot.row;
    used_ += before == kNone ? 1 : 0;
    slot = {address, row};
    return before;
  }
  [[nodiscard]] std::uint32_t Get(std::uint64_t address) const { return slots_[Find(address)].row; }
  // Forgets an address; returns the row that it had, or kNone.
  std::uint32_t Take(std::uint64_t address) {
    std::size_t hole = Find(address);
    const std::uint32_t row = slots_[hole].row;
    if (row == kNone) {
      return kNone;
    }
    --used_;
    // Close the gap, so that probing never needs tombstones.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; slots_[at].row != kNone; at = (at + 1) & mask) {
      const std::size_t home = Home(slots_[at].address);
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole].row = kNone;
    return row;
  }
  [[nodiscard]] std::size_t size() const { return used_; }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.row != kNone) {
        visit(slot.address, slot.row);
      }
    }
  }

 private:
  static constexpr std::size_t kFirst = 1024;
  struct Slot {
    std::uint64_t address = 0;
    std::uint32_t row = kNone;
  };

  [[nodiscard]] std::size_t Home(std::uint64_t address) const {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15ULL >> 32U) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t Find(std::uint64_t address) const {
    std::size_t at = Home(address);
    while (slots_[at].row != kNone && slots_[at].address != address) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.row != kNone) {
        slots_[Find(slot.address)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace memtool
