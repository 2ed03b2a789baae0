// A part of a history as a history of its own.
#pragma once

#include <cstdint>
#include <span>

#include "memtool/profile/base/result.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

struct Cut {
  Recording recording;
  // Segments whose blocks follow from the allocator's rules, because the range ends before the file
  // does (allocator/allocator_state.h).
  std::uint64_t estimated_segments = 0;
  std::uint64_t segments = 0;
  // Live blocks that lie in no known segment, because the file lacks segment events. Each gets a
  // segment of its own, so that no live byte is lost; reserved bytes are higher by that.
  std::uint64_t unplaced_blocks = 0;
  std::int64_t unplaced_bytes = 0;
  // Blocks allocated before the range and freed in it: no event of the range and no block at its
  // end says who allocated them.
  std::uint64_t forgotten_blocks = 0;
  std::int64_t forgotten_bytes = 0;
};

// The events of `ranges`, the allocator's state after the last of each, and the marks that touch
// them. Replayed, the result has the same live and reserved bytes after every event of the range
// (but see unplaced_blocks); traces without a range are left out. `ranges` in the order of their
// traces; the recording has a history. Errors: those of RecordingBuilder::Finish.
Result<Cut> CutHistory(const HistoryIndex& index, std::span<const EventRange> ranges);

}  // namespace memtool
