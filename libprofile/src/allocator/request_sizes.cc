#include "memtool/profile/allocator/request_sizes.h"

#include <algorithm>
#include <span>

#include "memtool/profile/replay/replay.h"

namespace memtool {

const Event* FailedAt(const Recording& recording, const Trace& trace, std::int64_t last) {
  const auto events = GetEvents(recording, trace);
  if (last < 0 || last >= static_cast<std::int64_t>(events.size())) {
    return nullptr;
  }
  const Event& event = events[static_cast<std::size_t>(last)];
  return event.action == Action::kOom ? &event : nullptr;
}

RequestSizes::RequestSizes(const Recording& recording, const Trace& trace, std::int64_t last) {
  largest_.resize(2 * recording.history->streams.size());
  const auto take = [this](std::uint16_t stream, bool small, std::int64_t bytes) {
    std::int64_t& largest = largest_[PoolOf(stream, small)];
    largest = std::max(largest, bytes);
  };
  for (const Event& event : GetEvents(recording, trace)) {
    if (event.action == Action::kAlloc || event.action == Action::kFreeRequested ||
        event.action == Action::kFreeCompleted) {
      take(event.stream, event.size <= kMaxSmallBlock, event.size);
    }
  }
  const StateAtMoment end = StateAtEnd(recording, trace);
  for (const Segment& segment : end.state.segments) {
    for (const Block& block :
         std::span(end.state.blocks).subspan(segment.first_block, segment.block_count)) {
      if (block.state != BlockState::kInactive) {
        // Files before 2.0 do not tell the requested size.
        take(segment.stream, segment.small, block.requested > 0 ? block.requested : block.size);
      }
    }
  }
  if (const Event* failed = FailedAt(recording, trace, last)) {
    largest_[PoolOf(failed->stream, failed->size <= kMaxSmallBlock)] = failed->size;
  }
}

std::int64_t RequestSizes::Of(const Segment& segment) const {
  return largest_[PoolOf(segment.stream, segment.small)];
}

std::vector<SegmentUse> UseOfEach(const StateAtMoment& at, const Recording& recording,
                                  const Trace& trace, std::int64_t last) {
  const RequestSizes requests(recording, trace, last);
  std::vector<SegmentUse> each;
  each.reserve(at.state.segments.size());
  for (const Segment& segment : at.state.segments) {
    const std::int64_t request = requests.Of(segment);
    const auto blocks =
        std::span(at.state.blocks).subspan(segment.first_block, segment.block_count);
    each.push_back({.gives = FreeIn(segment, blocks, request), .request = request});
  }
  return each;
}

}  // namespace memtool
