// The allocator requests of a program, as a sequence that can be replayed through a model, and the
// blocks that were live before the first request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/caching_allocator.h"

namespace memtool::whatif {

struct Request {
  enum class Kind : std::uint8_t {
    kAllocate,
    kFreeRequested,  // only where completion does not follow at once
    kFreeCompleted,
    kEmptyCache,  // the program's own
    kFailed,      // an allocation that failed, of a rounded size
  };
  std::int64_t size = 0;    // requested bytes
  std::uint32_t event = 0;  // of the trace
  // Of an allocation; at any time no two that live have the same. Used again after a free.
  std::uint32_t tag = 0;
  std::uint32_t owner = 0;  // PoolKey
  std::uint16_t stream = 0;
  Kind kind = Kind::kAllocate;

  [[nodiscard]] PoolKey pool() const { return {stream, owner}; }
};

// A block that existed before the first event. Blocks of a segment are contiguous and include free
// ones.
struct BaseBlock {
  CachingAllocator::Laid laid;
  std::int64_t requested = 0;
  StackId stack;  // may be none
};
struct BaseSegment {
  CachingAllocator::LaidSegment place;  // without its blocks:
  std::int64_t size = 0;
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;
};

// A run of consecutive segment releases, and its cause.
struct ReleaseRun {
  enum class Cause : std::uint8_t { kProgram, kRefused };
  enum class By : std::uint8_t {
    kStack,     // its frames say it
    kNoWant,    // the next request needed no new memory
    kHighest,   // what the next request needed was there to be had before or after
    kOneLimit,  // one limit explains all such runs
  };
  std::uint32_t first = 0;  // events
  std::uint32_t last = 0;
  Cause cause = Cause::kProgram;
  By by = By::kStack;
  std::int64_t bytes = 0;
  std::int64_t reserved_before = 0;
  std::int64_t segment_size = 0;  // of the segment that the next request got, or failed to get
};

struct Requests {
  std::vector<Request> rows;
  std::vector<BaseSegment> segments;  // in the order in which they can be laid
  std::vector<BaseBlock> blocks;
  std::vector<ReleaseRun> runs;
  std::uint32_t tags = 0;  // all are below
  std::int64_t base_reserved = 0;
  std::int64_t base_live = 0;  // requested bytes
  std::uint64_t unplaced = 0;  // live at the start, in no known segment
  std::uint64_t double_allocations = 0;

  [[nodiscard]] bool has_base() const { return base_reserved > 0; }
};

// `settings`: the recording's own, for the sizes of blocks that it does not say.
Requests CollectRequests(const HistoryIndex& index, const Trace& trace,
                         const AllocatorSettings& settings, Rules rules = {});

// --- the same program, changed ---

// `leaves_out`: which stacks never allocate.
Requests Without(const HistoryIndex& index, const Trace& trace, Requests requests,
                 const std::function<bool(StackId)>& leaves_out);
// Without the blocks that were there before and whose tag is `gone`.
void RemoveBase(Requests& requests, std::span<const char> gone);
// Rows from `first` to before `last`, after what is live by then, which is requested once more by
// itself.
Requests Between(const Requests& requests, std::size_t first, std::size_t last);
// Every size times `factor`, at least one byte. What was there before is laid anew only, because
// its layout is that of the old sizes.
Requests Scaled(Requests requests, double factor);
// An empty_cache() after each of `events` (of the trace, ascending; -1 = before the first).
Requests WithEmptyCache(Requests requests, const std::vector<std::int64_t>& events);
// Without the program's own.
Requests WithoutEmptyCache(Requests requests);

}  // namespace memtool::whatif
