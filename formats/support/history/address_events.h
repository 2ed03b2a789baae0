// Events of memory that is named by its address, as drivers and profilers record it: a trace and a
// domain for each place. A free ends the allocation at its address, wherever its own row puts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/history.h"
#include "support/history/stream_table.h"

namespace memtool::formats {

// What one list of events is of: memory of one kind on one device, of one process.
struct MemoryPlace {
  std::string trace;   // its name: "0", "cuda:0 static"
  std::string domain;  // the kind of memory: "device", "static"
  std::int32_t device = -1;
  DomainKind kind = DomainKind::kDevice;
  DomainLevel level = DomainLevel::kDriver;
  std::optional<std::int64_t> capacity{};
  // Traces are in the order of these: devices first, then what is on none.
  std::int64_t process = 0;
  std::int64_t rank = 0;
};

class AddressEvents {
 public:
  // None when there are as many as events can name: what is of this one has to be left out.
  std::optional<std::uint8_t> AddPlace(MemoryPlace place);
  // Of History::streams; 0, the default stream, for those beyond what events can name.
  std::uint16_t StreamOf(std::uint64_t handle) { return streams_.Of(handle); }

  // Events in the order of time. `space`: an address means the same within one (a process).
  // Event::domain is the number of its place, Event::key the address. Memory that is allocated
  // where something is live ends that first: its free is missing. Throws ReadError (kLimit) where
  // there are more events than a history has numbers for.
  void Allocate(std::uint64_t space, const Event& event, LabelSetId labels);
  // Where its allocation is known, the event takes place and, unless it has one, size from there.
  // False: the allocation is unknown, and nothing is added without a `size` and a `place`.
  bool Free(std::uint64_t space, Event event, std::optional<std::int64_t> size,
            std::optional<std::uint8_t> place, LabelSetId labels);
  // What happened at a place without changing it; returns a number for Change().
  std::size_t Add(const Event& event, LabelSetId labels);
  void Change(std::size_t event, Action action) { events_[event].action = action; }

  // Allocations at an address whose free is missing.
  [[nodiscard]] std::uint64_t reopened() const { return reopened_; }
  // Frees whose size is not that of their allocation.
  [[nodiscard]] std::uint64_t changed_sizes() const { return changed_sizes_; }

  // Once. Places without events are left out.
  History Finish(Clock clock) &&;

 private:
  std::size_t Append(const Event& event, LabelSetId labels);
  [[nodiscard]] std::vector<std::size_t> PlacesInOrder(
      const std::vector<std::uint64_t>& counts) const;

  std::vector<MemoryPlace> places_;
  RowVector<Event> events_;
  std::vector<LabelSetId> labels_;
  KeyMap<std::uint64_t, RowMap> live_;  // by space and address: row of events_
  StreamTable streams_;
  std::uint64_t reopened_ = 0;
  std::uint64_t changed_sizes_ = 0;
};

}  // namespace memtool::formats
