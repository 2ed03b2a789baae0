// A pickle's memo: what was written once and is referred to later. A snapshot memoises every dict,
// list and string, so an entry takes 5 bytes; the few values that need more lie in a side table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/base/row_vector.h"
#include "support/data_value.h"

namespace memtool::formats {

class PickleMemo {
 public:
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool Has(std::size_t at) const { return at < size() && entries_[at].tag != kHole; }

  void Set(std::size_t at, const Value& value) {
    while (at >= size()) {
      entries_.push_back({0, kHole});
    }
    Pack(value, entries_[at]);
  }
  void Add(const Value& value) {
    Entry entry;
    Pack(value, entry);
    entries_.push_back(entry);
  }

  // Writes a copy of entry `at`; false when there is none. A container is marked as used, so that
  // nothing can be added to it afterwards unnoticed.
  [[gnu::always_inline]] bool Get(std::size_t at, Value& value) {
    if (at >= size()) {
      return false;
    }
    const Entry entry = entries_[at];
    value = {.payload = entry.payload,
             .memo = static_cast<std::uint32_t>(at + 1),
             .kind = static_cast<ValueKind>(entry.tag & kKindMask),
             .shared = true};
    return (entry.tag & kRare) == 0 || GetRare(at, value);
  }
  [[nodiscard]] bool Used(std::size_t at) const { return (entries_[at].tag & kUsed) != 0; }

 private:
  struct [[gnu::packed]] Entry {
    std::uint32_t payload = 0;
    std::uint8_t tag = 0;  // the kind, and what follows
  };
  static_assert(sizeof(Entry) == 5);
  static constexpr std::uint8_t kKindMask = 0x3f;
  static constexpr std::uint8_t kBoxed = 0x40;
  static constexpr std::uint8_t kUsed = 0x80;  // of a container
  static constexpr std::uint8_t kRow = 0x80;   // of anything else: one row, the payload's low half
  static constexpr std::uint8_t kHole = 0xff;  // no builder has a kind 63
  // Set in holes, boxes, rows and containers; the most frequent entries, frames and text, have none
  // of these bits.
  static constexpr std::uint8_t kRare = 0xe0;
  static constexpr std::uint64_t kOneRow = std::uint64_t{1} << 32U;

  bool GetRare(std::size_t at, Value& value) {
    std::uint8_t& tag = entries_[at].tag;
    if (tag == kHole) {
      return false;
    }
    if ((tag & kBoxed) != 0) {
      value.payload = boxes_[static_cast<std::size_t>(value.payload)];
    } else if (!IsContainer(value.kind) && (tag & kRow) != 0) {
      value.payload |= kOneRow;
    }
    if (IsContainer(value.kind)) {
      tag |= kUsed;
    }
    return true;
  }
  // Into place: a packed struct that is returned in a register is stored byte by byte.
  void Pack(const Value& value, Entry& entry) {
    std::uint32_t payload = value.Low();
    auto tag = static_cast<std::uint8_t>(value.kind);
    if (value.row) {
      // Of a run of rows, the last one is what the memo means; it stands alone.
      payload += value.High() - 1;
      tag |= kRow;
    } else if (value.High() != 0) {
      payload = static_cast<std::uint32_t>(boxes_.size());
      tag |= kBoxed;
      boxes_.push_back(value.payload);
    }
    entry.payload = payload;
    entry.tag = tag;
  }

  RowVector<Entry> entries_;
  std::vector<std::uint64_t> boxes_;  // payloads that do not fit an entry
};

}  // namespace memtool::formats
