// Classifies the free memory of a caching allocator by what can be done with it:
// torch.cuda.empty_cache() returns some of it to the driver, the rest can only be reused, or not
// even that.
//
// Fragmentation is what neither empty_cache() nor a request of the size in question can use: free
// blocks next to live ones that such a request does not fit in, minus those of their pages that can
// be returned. What is returnable is not fragmented, nor is what private pools keep for themselves.
// Which size is in question: request_sizes.h.
//
// The rule is that of c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks() walks the free
// blocks of the default pools and of those pools whose graphs and MemPools are gone
// (graph_pools_freeable; a snapshot does not say which these are: all private pools count as in
// use). release_blocks() frees a segment that is one free block. In an expandable segment
// ExpandableSegment::unmap() takes from each free block the pages that lie wholly in it; a page has
// kSmallBuffer (2 MiB) or kLargeBuffer (20 MiB) bytes, counted from the segment's start. Blocks
// that wait for a stream count as in use.
#pragma once

#include <cstdint>
#include <span>

#include "memtool/profile/model/history.h"

namespace memtool {

inline constexpr std::int64_t kSmallBuffer = std::int64_t{2} << 20U;
inline constexpr std::int64_t kLargeBuffer = std::int64_t{20} << 20U;

// Bytes; the first four sum to what is free (size − active).
struct FreeMemory {
  std::int64_t returnable = 0;    // empty_cache() returns it to the driver
  std::int64_t reuse_only = 0;    // gaps between live blocks
  std::int64_t private_pool = 0;  // of CUDA graphs and MemPools: reserved for them while they live
  std::int64_t unlisted = 0;      // not covered by any block in the file: use unknown

  // Part of `reuse_only`: in blocks that the request in question does not fit in.
  std::int64_t fragmented = 0;

  std::int64_t unused_segments = 0;   // `returnable` is these, whole,
  std::int64_t pages = 0;             // and these pages
  std::int64_t paged_segments = 0;    // of this many expandable segments in use
  std::int64_t gaps = 0;              // blocks of `reuse_only`
  std::int64_t private_segments = 0;  // that hold some of `private_pool`

  // The part of `reuse_only` that the request in question can use.
  [[nodiscard]] std::int64_t reusable() const { return reuse_only - fragmented; }
  void Add(const FreeMemory& other);
};

// `blocks`: those of the segment; `request`: the size in question, see RequestSizes.
FreeMemory FreeIn(const Segment& segment, std::span<const Block> blocks, std::int64_t request);

}  // namespace memtool
