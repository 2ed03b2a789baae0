// Physical memory of the virtual memory functions. A handle names it; it is returned when the
// handle's references and its mappings are both gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "capture_log/calls/allocation.h"
#include "capture_log/calls/call.h"
#include "capture_log/calls/history_builder.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

class HandleTable {
 public:
  struct Mapping {
    std::size_t handle = 0;  // row of the table
    std::size_t range = 0;   // of the history; none for imported memory
  };
  // What a release or an unmapping did, to be restored when the driver refused it.
  struct Ended {
    std::vector<std::pair<std::uint64_t, Mapping>> mappings;  // by address
    // that ended, with the event that ended them
    std::vector<std::pair<std::size_t, EventPlace>> handles;
    std::optional<std::size_t> released;  // the handle that lost a reference
    // the event of the request, when it is still mapped
    std::optional<EventPlace> requested;
  };

  explicit HandleTable(HistoryBuilder& history) : history_(history) {}

  // How often the number was in use before: a handle's number may be reused while the memory that
  // it named is still mapped.
  std::uint64_t CountUse(std::uint64_t handle) { return uses_[handle]++; }
  void Add(std::uint64_t handle, const Allocation& allocation);
  // One more release is needed.
  void Retain(std::uint64_t handle);
  // None: no such handle.
  std::optional<Ended> Release(const Call& call, std::uint64_t handle);
  void Map(const Call& call, std::uint64_t handle, std::uint64_t address, std::uint64_t size);
  // All that is mapped in the range.
  Ended Unmap(const Call& call, std::uint64_t address, std::uint64_t size);
  void Restore(const Ended& ended);

 private:
  struct Handle {
    Allocation allocation;
    std::uint64_t value = 0;
    std::int64_t references = 1;
    std::int64_t mappings = 0;
    bool gone = false;
  };

  bool EndIfUnused(const Call& call, std::size_t handle, Ended& ended);

  HistoryBuilder& history_;
  std::vector<Handle> handles_;
  KeyMap<std::uint64_t, std::size_t> index_;  // by value
  KeyMap<std::uint64_t, std::uint64_t> uses_;
  std::map<std::uint64_t, Mapping> mapped_;  // by address
};

}  // namespace memtool::formats::capture_log
