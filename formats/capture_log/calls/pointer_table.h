// Live allocations that are named by a pointer (of an array: by its handle): which one a free ends,
// and which go with their context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../../../capture/wire.h"
#include "capture_log/calls/allocation.h"
#include "capture_log/calls/call.h"
#include "capture_log/calls/history_builder.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

class PointerTable {
 public:
  using Key = std::pair<wire::Space, std::uint64_t>;

  // What a free or the end of a context ended, to be restored when the driver refused it.
  struct Ended {
    Key key;
    Allocation allocation;
    EventPlace event;  // that ended it; none for imported memory
  };

  explicit PointerTable(HistoryBuilder& history) : history_(history) {}

  void Add(const Key& key, const Allocation& allocation) { live_.emplace(key, allocation); }
  // Another process's memory.
  void Import(const Key& key) { live_[key] = {.imported = true}; }
  // To call before an allocation with that key: one that is live must have ended, though its free
  // was not recorded (the capture was off, or a chunk is lost). True when there was one.
  bool EndForgotten(const Call& call, const Key& key);
  std::optional<Ended> Free(const Call& call, const Key& key);
  // Pools and handles belong to the device and stay.
  std::vector<Ended> EndContext(const Call& call, std::uint64_t context);
  void Restore(const Ended& ended);

 private:
  using Table = KeyMap<Key, Allocation>;

  Ended End(const Call& call, Table::iterator live);

  HistoryBuilder& history_;
  Table live_;
};

}  // namespace memtool::formats::capture_log
