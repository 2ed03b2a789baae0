// A pickle's memo: what was written once and is referred to later. A snapshot memoises every dict,
// list and string, so an entry takes 8 bytes; the few values that need more lie in a side table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/data_value.h"

namespace memtool::formats {

class PickleMemo {
 public:
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool Has(std::size_t at) const {
    return at < entries_.size() && entries_[at] != kHole;
  }

  void Set(std::size_t at, const Value& value) {
    if (at >= entries_.size()) {
      entries_.resize(at + 1, kHole);
    }
    entries_[at] = Pack(value);
  }
  void Add(const Value& value) { entries_.push_back(Pack(value)); }

  // A copy of entry `at`; a container is marked as used, so that nothing is added to it afterwards
  // unnoticed.
  Value Get(std::size_t at) {
    std::uint64_t& entry = entries_[at];
    const auto kind = static_cast<ValueKind>(entry & kKindMask);
    Value value = Value::Of(kind, entry >> kPayloadShift);
    if ((entry & kBoxed) != 0) {
      value = boxes_[static_cast<std::size_t>(value.payload)];
    }
    value.memo = static_cast<std::uint32_t>(at + 1);
    value.shared = true;
    if (IsContainer(kind)) {
      entry |= kUsed;
    }
    return value;
  }
  [[nodiscard]] bool Used(std::size_t at) const { return (entries_[at] & kUsed) != 0; }

 private:
  static constexpr unsigned kPayloadShift = 8;
  static constexpr std::uint64_t kKindMask = 0x3f;
  static constexpr std::uint64_t kBoxed = 0x40;
  static constexpr std::uint64_t kUsed = 0x80;
  static constexpr std::uint64_t kHole = ~std::uint64_t{0};

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
    Value box = Value::Of(value.kind, payload);
    boxes_.push_back(box);
    return (boxes_.size() - 1) << kPayloadShift | kBoxed | kind;
  }

  std::vector<std::uint64_t> entries_;
  std::vector<Value> boxes_;
};

}  // namespace memtool::formats
