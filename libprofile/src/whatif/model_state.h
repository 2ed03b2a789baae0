// The model's blocks as the state that a file ends with.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "memtool/profile/model/history.h"
#include "memtool/profile/whatif/caching_allocator.h"

namespace memtool::whatif {

// Who allocated what is live, and how many bytes were requested; by tag.
using Owners = std::vector<std::pair<StackId, std::int64_t>>;

// Segments by address; one of an expandable reservation is a run of mapped pages.
AllocatorState ToState(const CachingAllocator& allocator, const Owners& owners,
                       std::int32_t device);

// What a change of the model's segments is in a history of `trace`, beside the event `at`.
Event SegmentEvent(Event at, const SegmentChange& change, const Trace& trace, bool expandable);
// The same of a block.
Event BlockEvent(Event at, std::uint64_t address, std::int64_t size, Action action,
                 const Trace& trace);

}  // namespace memtool::whatif
