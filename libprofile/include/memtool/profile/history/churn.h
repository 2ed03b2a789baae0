// Short-lived memory: allocations by who made them, how long they lived, and how many bytes were
// freed again at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/profile/history/events.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// What counts as short-lived: freed within so many entries of its trace, or, when a time is given,
// within that time.
struct ShortLived {
  std::int64_t events = 100;
  std::optional<std::int64_t> nanos{};
};

// The allocations of one group.
struct Churn {
  std::int64_t allocations = 0;
  std::int64_t bytes = 0;
  std::int64_t short_lived = 0;
  std::int64_t short_bytes = 0;
  std::int64_t kept = 0;  // not freed before the trace ends
  std::int64_t kept_bytes = 0;
  std::int64_t without_address = 0;  // nothing tells when they were freed
  // The lower median of the lifetimes of those that were freed: in entries of the trace, and in
  // time where the events carry it.
  std::optional<std::int64_t> median_events{};
  std::optional<std::int64_t> median_nanos{};
};

struct ChurnSums {
  // As AllocationGroups::names, then what is in no group (unless a group is kNoStack)
  std::vector<Churn> groups;
  Churn total;
  // From the first event of the ranges to the last, by the clock; nothing without times.
  std::optional<std::int64_t> nanos{};
};

// Counts the allocations of `ranges` that filter (but for its id) and view let through. Frees count
// wherever in the trace they are.
ChurnSums SumChurn(const HistoryIndex& index, const View& view, std::span<const EventRange> ranges,
                   const EventFilter& filter, const AllocationGroups& groups,
                   const ShortLived& limit);

}  // namespace memtool
