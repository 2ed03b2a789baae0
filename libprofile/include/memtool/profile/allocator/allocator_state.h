// The allocator's segments and blocks at a moment, computed by replaying events backwards from the
// final state in the file. The rules are those of PyTorch's caching allocator: neighbouring free
// blocks are one block, an allocation takes the beginning of a free block, and a remainder that is
// too small to be useful stays with the block.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

struct StateAtMoment {
  AllocatorState state;  // segments by address; their blocks fill them without gaps
  // per segment: 1 when a size in it follows from these rules, not from the file
  std::vector<char> estimated;
  // Live blocks that lie in no known segment (the file lacks segment events), in requested bytes.
  std::int64_t unplaced_bytes = 0;
  std::uint64_t unplaced_blocks = 0;
  std::vector<Block> unplaced;  // by address
};

// The state of `trace` that the file ends with.
StateAtMoment StateAtEnd(const Recording& recording, const Trace& trace);

// The state of `trace` after its event `last` (-1 = before the first). After the last event this is
// the file's final state; earlier moments need one replay.
StateAtMoment StateAt(const HistoryIndex& index, const Trace& trace, std::int64_t last);

}  // namespace memtool
