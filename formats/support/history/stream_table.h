// Streams by the number that an event has for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats {

class StreamTable {
 public:
  // 0, the default stream, for those beyond what events can name.
  std::uint16_t Of(std::uint64_t handle) {
    const auto known = index_.find(handle);
    if (known != index_.end()) {
      return known->second;
    }
    if (handles_.size() == kMost) {
      return 0;
    }
    handles_.push_back(handle);
    return index_.emplace(handle, static_cast<std::uint16_t>(handles_.size() - 1)).first->second;
  }
  // Once: History::streams.
  std::vector<std::uint64_t> Take() { return std::move(handles_); }

 private:
  static constexpr std::size_t kMost = 65'000;

  std::vector<std::uint64_t> handles_{0};
  KeyMap<std::uint64_t, std::uint16_t> index_{{0, 0}};
};

}  // namespace memtool::formats
