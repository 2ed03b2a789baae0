// A pickle's memo: what was written once and is referred to later. A snapshot memoises every dict,
// list and string, so an entry takes 8 bytes; the few values that need more lie in a side table.
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
  [[nodiscard]] bool Has(std::size_t at) const {
    return at < entries_.size() && entries_[at] != kHole;
  }

  void Set(std::size_t at, const Value& value) {
    while (at >= entries_.size()) {
      entries_.push_back(kHole);
    }
    entries_[at] = Pack(value);
  }
  void Add(const Value& value) { entries_.push_back(Pack(value)); }

  // Writes a copy of entry `at`; false when there is none. A container is marked as used, so that
  // nothing can be added to it afterwards unnoticed.
  [[gnu::always_inline]] bool Get(std::size_t at, Value& value) {
    if (at >= entries_.size()) {
      return false;
    }
    std::uint64_t& entry = entries_[at];
    value = {.payload = entry >> kPayloadShift,
             .memo = static_cast<std::uint32_t>(at + 1),
             .kind = static_cast<ValueKind>(entry & kKindMask),
             .shared = true};
    return (entry & kRare) == 0 || GetRare(entry, value);
  }
  [[nodiscard]] bool Used(std::size_t at) const { return (entries_[at] & kUsed) != 0; }

 private:
  static constexpr unsigned kPayloadShift = 8;
  static constexpr std::uint64_t kKindMask = 0x3f;
  static constexpr std::uint64_t kBoxed = 0x40;
  static constexpr std::uint64_t kUsed = 0x80;
  static constexpr std::uint64_t kHole = ~std::uint64_t{0};
  // Set in holes, boxes and containers; the most frequent entries, frames and text, have none of
  // these bits.
  static constexpr std::uint64_t kRare = 0xe0;

  bool GetRare(std::uint64_t& entry, Value& value) const {
    if (entry == kHole) {
      return false;
    }
    if ((entry & kBoxed) != 0) {
      value.payload = boxes_[static_cast<std::size_t>(value.payload)];
    }
    if (IsContainer(value.kind)) {
      entry |= kUsed;
    }
    return true;
  }
  std::uint64_t Pack(const Value& value) {
    std::uint64_t payload = value.payload;
    // Of a run of rows, the last one is what the memo means; it stands alone.
    if (value.row) {
      payload = (value.Low() + value.High() - 1) | std::uint64_t{1} << 32U;
    }
    const auto kind = static_cast<std::uint64_t>(value.kind);
    if (payload >> (64U - kPayloadShift) == 0) {
      return payload << kPayloadShift | kind;
    }
    boxes_.push_back(payload);
    return (boxes_.size() - 1) << kPayloadShift | kBoxed | kind;
  }

  RowVector<std::uint64_t> entries_;
  std::vector<std::uint64_t> boxes_;  // payloads that do not fit an entry
};

}  // namespace memtool::formats
