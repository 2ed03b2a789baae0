// What the tables of live memory keep about an allocation.
#pragma once

#include <cstdint>

namespace memtool::formats::capture_log {

// An event of a history that is being built: HistoryBuilder.
struct EventPlace {
  std::uint32_t trace = 0;
  std::uint32_t row = 0;
};

struct Allocation {
  EventPlace place;  // of the event that allocated it
  std::uint64_t context = 0;
  bool pooled = false;    // a pool's, which belongs to the device, not to the context
  bool imported = false;  // another process's memory: it has no events
};

}  // namespace memtool::formats::capture_log
