#include "whatif/model_state.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::whatif {

AllocatorState ToState(const CachingAllocator& allocator, const Owners& owners,
                       std::int32_t device) {
  const std::vector<CachingAllocator::View> views = allocator.Blocks();
  AllocatorState state;
  state.blocks.reserve(views.size());
  for (const CachingAllocator::View& view : views) {
    if (view.begins || state.segments.empty()) {
      state.segments.push_back({.address = view.address,
                                .device = device,
                                .stream = view.pool.stream,
                                .stack = {},
                                .first_block = static_cast<std::uint32_t>(state.blocks.size()),
                                .small = view.small,
                                .expandable = view.expandable,
                                .pool_id = view.pool.owner});
    }
    Segment& segment = state.segments.back();
    Block block{.address = view.address, .size = view.size, .stack = {}};
    if (view.used) {
      const auto& [stack, requested] = owners[view.tag];
      block.stack = stack;
      block.requested = std::min(requested, view.size);
      block.state = view.pending ? BlockState::kPendingFree : BlockState::kActive;
      segment.active = SaturatingAdd(segment.active, view.size);
      segment.allocated = SaturatingAdd(segment.allocated, view.pending ? 0 : view.size);
      segment.requested = SaturatingAdd(segment.requested, block.requested);
    }
    segment.size = SaturatingAdd(segment.size, view.size);
    ++segment.block_count;
    state.blocks.push_back(block);
  }
  std::sort(state.segments.begin(), state.segments.end(),
            [](const Segment& a, const Segment& b) { return a.address < b.address; });
  return state;
}

Event SegmentEvent(Event at, const SegmentChange& change, const Trace& trace, bool expandable) {
  at.key = change.address;
  at.size = change.size;
  at.domain = static_cast<std::uint8_t>(trace.segments.value());
  at.action = change.released ? (expandable ? Action::kSegmentUnmap : Action::kSegmentFree)
                              : (expandable ? Action::kSegmentMap : Action::kSegmentAlloc);
  return at;
}

Event BlockEvent(Event at, std::uint64_t address, std::int64_t size, Action action,
                 const Trace& trace) {
  at.key = address;
  at.size = size;
  at.domain = static_cast<std::uint8_t>(trace.blocks.value());
  at.action = action;
  return at;
}

}  // namespace memtool::whatif
