#include "memtool/profile/allocator/free_memory.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// Pages that lie wholly in a block of an expandable segment.
std::int64_t WholePages(const Segment& segment, const Block& block) {
  const std::int64_t page = segment.small ? kSmallBuffer : kLargeBuffer;
  if (block.address < segment.address || block.size <= 0) {
    return 0;
  }
  const std::uint64_t distance = block.address - segment.address;
  if (distance > static_cast<std::uint64_t>(INT64_MAX - page)) {
    return 0;
  }
  const auto begin = static_cast<std::int64_t>(distance);
  const std::int64_t end = SaturatingAdd(begin, block.size);
  return std::max<std::int64_t>(end / page - (begin + page - 1) / page, 0);
}

// Of a segment with live blocks.
void AddGaps(const Segment& segment, std::span<const Block> blocks, std::int64_t request,
             FreeMemory& free) {
  for (const Block& block : blocks) {
    if (block.state != BlockState::kInactive) {
      continue;
    }
    const std::int64_t pages = segment.expandable ? WholePages(segment, block) : 0;
    const std::int64_t returnable = pages * (segment.small ? kSmallBuffer : kLargeBuffer);
    free.pages += pages;
    free.returnable = SaturatingAdd(free.returnable, returnable);
    const std::int64_t kept = SaturatingSubtract(block.size, returnable);
    free.reuse_only = SaturatingAdd(free.reuse_only, kept);
    free.fragmented = SaturatingAdd(free.fragmented, block.size < request ? kept : 0);
    free.gaps += block.size > returnable ? 1 : 0;
  }
  free.paged_segments = free.pages > 0 ? 1 : 0;
}

}  // namespace

void FreeMemory::Add(const FreeMemory& other) {
  for (const auto sum :
       {&FreeMemory::returnable, &FreeMemory::reuse_only, &FreeMemory::private_pool,
        &FreeMemory::unlisted, &FreeMemory::fragmented, &FreeMemory::unused_segments,
        &FreeMemory::pages, &FreeMemory::paged_segments, &FreeMemory::gaps,
        &FreeMemory::private_segments}) {
    this->*sum = SaturatingAdd(this->*sum, other.*sum);
  }
}

FreeMemory FreeIn(const Segment& segment, std::span<const Block> blocks, std::int64_t request) {
  FreeMemory free;
  const std::int64_t all = SaturatingSubtract(segment.size, segment.active);
  if (segment.pool_owner != 0 || segment.pool_id != 0) {
    free.private_pool = all;
    free.private_segments = all > 0 ? 1 : 0;
  } else if (segment.host) {
    free.reuse_only = all;  // pinned host memory: empty_cache() is about the device's
  } else if (segment.active == 0) {
    free.returnable = all;
    free.unused_segments = 1;
  } else {
    AddGaps(segment, blocks, request, free);
    free.unlisted = SaturatingSubtract(all, SaturatingAdd(free.returnable, free.reuse_only));
  }
  return free;
}

}  // namespace memtool
