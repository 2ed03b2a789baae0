// Giving memory back to the driver.
#include <algorithm>
#include <vector>

#include "memtool/profile/whatif/caching_allocator.h"

namespace memtool::whatif {

void CachingAllocator::Gave(std::uint64_t address, std::int64_t size) {
  changes_.push_back({address, size, true});
  counters_.reserved -= size;
  released_ += size;
  ++counters_.releases;
}

// A free block that is a whole segment.
void CachingAllocator::ReleaseSegment(BlockId block) {
  Remove(block);
  Gave(blocks_[block].address, blocks_[block].size);
  DropRow(block);
}

void CachingAllocator::WaitForStreams() {
  for (const BlockId block : pending_) {
    completed_.push_back(blocks_[block].tag);
    counters_.active -= blocks_[block].size;
    Return(block);
  }
  pending_.clear();
}

void CachingAllocator::ReleasePool(std::uint32_t pool) {
  std::vector<BlockId> whole;
  std::vector<BlockId> expandable;
  const FreeSet& free = pools_[pool].free;
  for (auto at = free.Begin(); !free.AtEnd(at); at = free.Next(at)) {
    const BlockId block = free[at].row;
    if (Expandable(block)) {
      expandable.push_back(block);
    } else if (Alone(block)) {
      whole.push_back(block);
    }
  }
  for (const BlockId block : whole) {
    ReleaseSegment(block);
  }
  for (const BlockId block : expandable) {
    Unmap(block);
  }
}

// Private pools are left alone: whether their graphs still exist, nobody records.
void CachingAllocator::ReleaseAll() {
  WaitForStreams();
  for (const bool small : {false, true}) {
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
      if (pools_[pool].small == small && pools_[pool].key.owner == 0) {
        ReleasePool(pool);
      }
    }
  }
}

void CachingAllocator::EmptyCache() {
  changes_.clear();
  completed_.clear();
  released_ = 0;
  ReleaseAll();
}

// With max_split_size, blocks above it cannot be divided: one that fits is given back alone, else
// the largest of them, until there is enough.
bool CachingAllocator::ReleaseOversize(std::uint32_t pool, std::int64_t size) {
  if (settings_.splits_everything()) {
    return false;
  }
  const std::int64_t least = std::max(size, settings_.max_split_size);
  const FreeSet& free = pools_[pool].free;
  const auto releasable = [&](BlockId block) { return !Expandable(block) && Alone(block); };
  FreeSet::Place place = free.LowerBound(least);
  if (!free.AtEnd(place) && !Expandable(free[place].row)) {
    if (!releasable(free[place].row)) {
      return false;
    }
    ReleaseSegment(free[place].row);
    return true;
  }
  std::vector<BlockId> chosen;
  std::int64_t bytes = 0;
  while (!(place == free.Begin()) && bytes < least) {
    place = free.Before(place);
    if (free[place].size < settings_.max_split_size) {
      break;
    }
    if (releasable(free[place].row)) {
      chosen.push_back(free[place].row);
      bytes += free[place].size;
    }
  }
  for (const BlockId block : chosen) {
    ReleaseSegment(block);
  }
  return bytes >= least;
}

// Whole free segments that have not been of use for longer than the mean, in rounds, until reserved
// memory is below the threshold.
void CachingAllocator::CollectGarbage() {
  const auto threshold = static_cast<std::int64_t>(settings_.garbage_collection_threshold *
                                                   static_cast<double>(Allowed()));
  if (counters_.reserved <= threshold) {
    return;
  }
  const std::int64_t wanted = counters_.reserved - threshold;
  std::vector<BlockId> candidates;
  double ages = 0;
  for (const Pool& pool : pools_) {
    if (pool.small || pool.key.owner != 0) {
      continue;
    }
    for (auto at = pool.free.Begin(); !pool.free.AtEnd(at); at = pool.free.Next(at)) {
      const BlockId block = pool.free[at].row;
      if (Alone(block) && !Expandable(block)) {
        candidates.push_back(block);
        ages += searches_ - blocks_[block].since;
      }
    }
  }
  std::int64_t reclaimed = 0;
  for (bool any = true; any && reclaimed < wanted && !candidates.empty();) {
    const double mean = ages / static_cast<double>(candidates.size());
    std::vector<BlockId> left;
    any = false;
    for (const BlockId block : candidates) {
      const std::uint32_t age = searches_ - blocks_[block].since;
      if (age < mean) {
        left.push_back(block);
        continue;
      }
      any = true;
      ages -= age;
      reclaimed += blocks_[block].size;
      ReleaseSegment(block);
    }
    candidates.swap(left);
  }
}

// --- what was there before the first request ---

void CachingAllocator::Lay(const LaidSegment& segment, std::span<BlockId> ids) {
  const std::uint32_t pool = PoolFor(segment.pool, segment.small);
  const bool continues = segment.expandable && !reservations_.empty() &&
                         reservations_.back().address == segment.reservation &&
                         last_laid_ != kNoBlock;
  if (!continues) {
    FinishReservation();
  }
  if (segment.expandable) {
    LayRun(segment, pool, !continues);
  } else {
    last_laid_ = kNoBlock;
  }
  std::uint64_t address = segment.address;
  for (const Laid& laid : segment.blocks) {
    const BlockId block = NewRow(
        {.address = address,
         .size = laid.size,
         .pool = pool,
         .reservation =
             segment.expandable ? static_cast<std::uint32_t>(reservations_.size() - 1) : kNoBlock,
         .tag = laid.tag,
         .state = State::kUsed});
    address += static_cast<std::uint64_t>(laid.size);
    Link(last_laid_, block);
    last_laid_ = block;
    counters_.reserved += laid.size;
    if (laid.tag == kFreeTag) {
      InsertFree(block);
      continue;
    }
    ids[laid.tag] = block;
    counters_.active += laid.size;
    if (laid.pending) {
      FreeRequested(block);
    }
  }
  if (!segment.expandable) {
    last_laid_ = kNoBlock;
  }
  const auto size = static_cast<std::int64_t>(address - segment.address);
  counters_.largest_segment = std::max(counters_.largest_segment, size);
  counters_.reserved_peak = std::max(counters_.reserved_peak, counters_.reserved);
}

}  // namespace memtool::whatif
