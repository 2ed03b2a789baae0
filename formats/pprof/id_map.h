// From the ids of a file (any 64-bit numbers, usually 1..n) to row numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/row_map.h"

namespace memtool::formats::pprof {

class IdMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Row i has id ids[i]. Returns the row of the first duplicate, or kNone.
  std::uint32_t Build(std::span<const std::uint64_t> ids) {
    std::uint64_t largest = 0;
    for (const std::uint64_t id : ids) {
      largest = std::max(largest, id);
    }
    if (largest <= 4 * ids.size() + 1024) {
      dense_.assign(largest + 1, kNone);
    }
    for (std::uint32_t row = 0; row < ids.size(); ++row) {
      if (Row(ids[row]) != kNone) {
        return row;
      }
      if (dense_.empty()) {
        sparse_.Put(ids[row], row);
      } else {
        dense_[ids[row]] = row;
      }
    }
    return kNone;
  }

  [[nodiscard]] std::uint32_t Row(std::uint64_t id) const {
    if (id < dense_.size()) {
      return dense_[id];
    }
    return sparse_.size() == 0 ? kNone : sparse_.Get(id);
  }

 private:
  std::vector<std::uint32_t> dense_;
  RowMap sparse_;
};

}  // namespace memtool::formats::pprof
