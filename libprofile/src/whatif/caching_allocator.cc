#include "memtool/profile/whatif/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::whatif {

namespace {

std::int64_t RoundUp(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Up to the next of `divisions` equal parts of the way to the next power of two.
std::int64_t RoundToDivision(std::int64_t size, std::int64_t divisions) {
  const auto bits = static_cast<std::uint64_t>(size);
  if (std::has_single_bit(bits)) {
    return size;
  }
  const std::uint64_t floor = std::bit_floor(bits);
  const auto step = static_cast<std::int64_t>(
      floor >> (static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(divisions))) - 1));
  return step == 0 ? static_cast<std::int64_t>(floor << 1U) : RoundUp(size, step);
}

}  // namespace

CachingAllocator::CachingAllocator(AllocatorSettings settings, DriverModel driver, Rules rules)
    : settings_(std::move(settings)), driver_(std::move(driver)), rules_(rules) {}

std::int64_t CachingAllocator::RoundedSize(std::int64_t requested) const {
  const std::int64_t size =
      std::clamp<std::int64_t>(SaturatingAdd(requested, settings_.padding), 1, kMaxSize);
  if (size < kSizes.block) {
    return rules_.round_to;
  }
  constexpr int kFirstInterval = 20;  // 2^20 bytes
  const int interval =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))) - 1 - kFirstInterval;
  const std::int64_t divisions = settings_.roundup_power2_divisions.at(
      static_cast<std::size_t>(std::clamp<int>(interval, 0, kRoundingIntervals - 1)));
  return divisions > 1 && size > kSizes.block * divisions ? RoundToDivision(size, divisions)
                                                          : RoundUp(size, rules_.round_to);
}

std::int64_t CachingAllocator::SegmentSizeFor(std::int64_t rounded) const {
  if (rounded <= kSizes.small) {
    return kSizes.small_segment;
  }
  const bool medium =
      rounded < kSizes.own_segment || (rules_.own_segment_above && rounded == kSizes.own_segment);
  return medium && !rules_.no_medium_segments ? settings_.large_segment
                                              : RoundUp(rounded, kSizes.round_segment);
}

std::int64_t CachingAllocator::Allowed() const {
  return memtool::Scaled(driver_.total, settings_.memory_fraction);
}

// --- rows, links, sets ---

std::uint32_t CachingAllocator::PoolFor(PoolKey key, bool small) {
  const std::uint32_t row = key.stream * 2U + (small ? 1U : 0U);
  const auto make = [&] {
    pools_.push_back({.key = key, .small = small, .free = {}, .unmapped = {}});
    return static_cast<std::uint32_t>(pools_.size() - 1);
  };
  if (key.owner != 0) {
    const auto [at, is_new] = private_pools_.try_emplace({key.owner, row}, 0);
    at->second = is_new ? make() : at->second;
    return at->second;
  }
  if (row >= default_pools_.size()) {
    default_pools_.resize(row + 1, kNoBlock);
  }
  if (default_pools_[row] == kNoBlock) {
    default_pools_[row] = make();
  }
  return default_pools_[row];
}

CachingAllocator::BlockId CachingAllocator::NewRow(const BlockRow& row) {
  if (!unused_rows_.empty()) {
    const BlockId id = unused_rows_.back();
    unused_rows_.pop_back();
    blocks_[id] = row;
    return id;
  }
  blocks_.push_back(row);
  return static_cast<BlockId>(blocks_.size() - 1);
}

void CachingAllocator::DropRow(BlockId block) {
  blocks_[block].state = State::kGone;
  unused_rows_.push_back(block);
}

void CachingAllocator::Link(BlockId left, BlockId right) {
  if (left != kNoBlock) {
    blocks_[left].next = right;
  }
  if (right != kNoBlock) {
    blocks_[right].prev = left;
  }
}

void CachingAllocator::InsertFree(BlockId block) {
  BlockRow& row = blocks_[block];
  row.state = State::kFree;
  row.tag = kFreeTag;
  row.since = searches_;
  pools_[row.pool].free.Insert(MakeEntry(row, block));
}

void CachingAllocator::InsertUnmapped(BlockId block) {
  BlockRow& row = blocks_[block];
  row.state = State::kUnmapped;
  row.tag = kFreeTag;
  pools_[row.pool].unmapped.Insert(MakeEntry(row, block));
}

void CachingAllocator::Remove(BlockId block) {
  const BlockRow& row = blocks_[block];
  Pool& pool = pools_[row.pool];
  (row.state == State::kUnmapped ? pool.unmapped : pool.free).Erase(MakeEntry(row, block));
}

// `block` is in no set; its neighbour becomes a part of it.
void CachingAllocator::MergeInto(BlockId block, BlockId neighbour) {
  Remove(neighbour);
  BlockRow& row = blocks_[block];
  const BlockRow& other = blocks_[neighbour];
  row.size += other.size;
  if (row.prev == neighbour) {
    row.address = other.address;
    row.prev = other.prev;
    Link(other.prev, block);
  } else {
    row.next = other.next;
    Link(block, other.next);
  }
  DropRow(neighbour);
}

void CachingAllocator::Return(BlockId block) {
  for (const BlockId neighbour : {blocks_[block].prev, blocks_[block].next}) {
    if (neighbour != kNoBlock && blocks_[neighbour].state == State::kFree) {
      MergeInto(block, neighbour);
    }
  }
  InsertFree(block);
}

// --- requests ---

CachingAllocator::BlockId CachingAllocator::Allocate(PoolKey key, std::int64_t requested,
                                                     std::uint32_t tag) {
  changes_.clear();
  completed_.clear();
  released_ = 0;
  const std::int64_t size = RoundedSize(requested);
  const std::uint32_t pool = PoolFor(key, size <= kSizes.small);
  BlockId block = Search(pool, size);
  if (block == kNoBlock) {
    if (LimitsFraction() && settings_.garbage_collection_threshold > 0) {
      CollectGarbage();
    }
    block = NewMemory(pool, size, false);
    counters_.refusals += block == kNoBlock ? 1 : 0;
  }
  if (block == kNoBlock && ReleaseOversize(pool, size)) {
    block = NewMemory(pool, size, false);
  }
  if (block == kNoBlock) {
    ReleaseAll();
    ++counters_.retries;
    block = NewMemory(pool, size, true);
  }
  if (block == kNoBlock) {
    ++counters_.failures;
    return kNoBlock;
  }
  return Take(block, size, tag);
}

void CachingAllocator::FreeRequested(BlockId block) {
  changes_.clear();
  completed_.clear();
  BlockRow& row = blocks_[block];
  if (row.state == State::kUsed) {
    row.state = State::kPending;
    row.since = static_cast<std::uint32_t>(pending_.size());
    pending_.push_back(block);
  }
}

void CachingAllocator::FreeCompleted(BlockId block) {
  changes_.clear();
  completed_.clear();
  FreeUnseen(block);
}

void CachingAllocator::FreeUnseen(BlockId block) {
  const BlockRow& row = blocks_[block];
  if (row.state == State::kPending) {
    blocks_[pending_.back()].since = row.since;
    pending_[row.since] = pending_.back();
    pending_.pop_back();
  }
  counters_.active -= row.size;
  Return(block);
}

// --- searching ---

// What a block of an expandable segment can become when what follows it is mapped.
std::int64_t CachingAllocator::GrownSize(BlockId block) const {
  const BlockRow& row = blocks_[block];
  const bool grows = row.next != kNoBlock && blocks_[row.next].state == State::kUnmapped;
  return row.size + (grows ? blocks_[row.next].size : 0);
}

FreeSet::Place CachingAllocator::FirstFit(const FreeSet& free, std::int64_t size) const {
  FreeSet::Place best = free.LowerBound(size);
  for (FreeSet::Place at = best; !free.AtEnd(at); at = free.Next(at)) {
    best = free[at].address < free[best].address ? at : best;
  }
  return best;
}

// Moves from the best fit to the block that PyTorch takes; false where it takes none.
bool CachingAllocator::Candidate(const Pool& pool, std::int64_t size, FreeSet::Place& place) const {
  const FreeSet& free = pool.free;
  if (rules_.highest_on_tie) {
    for (FreeSet::Place next = free.Next(place);
         !free.AtEnd(next) && free[next].size == free[place].size; next = free.Next(next)) {
      place = next;
    }
  }
  if (Expandable(free[place].row)) {
    if (settings_.expandable_segments && !rules_.expandable_best_fit) {
      for (FreeSet::Place next = free.Next(place);
           Expandable(free[place].row) && !free.AtEnd(next) &&
           GrownSize(free[next].row) < GrownSize(free[place].row);
           next = free.Next(next)) {
        place = next;
      }
    }
    while (!settings_.expandable_segments && Expandable(free[place].row)) {
      place = free.Next(place);
      if (free.AtEnd(place)) {
        return false;
      }
    }
  }
  const std::int64_t found = free[place].size;
  return size < settings_.max_split_size
             ? found < settings_.max_split_size || settings_.splits_everything()
             : found < SaturatingAdd(size, settings_.max_non_split_rounding);
}

CachingAllocator::BlockId CachingAllocator::Search(std::uint32_t pool_row, std::int64_t size) {
  Pool& pool = pools_[pool_row];
  if (LimitsFraction() && settings_.garbage_collection_threshold > 0 && !pool.small &&
      pool.key.owner == 0) {
    ++searches_;
  }
  FreeSet::Place place = rules_.first_fit ? FirstFit(pool.free, size) : pool.free.LowerBound(size);
  if (pool.free.AtEnd(place) || !Candidate(pool, size, place)) {
    return kNoBlock;
  }
  const BlockId found = pool.free[place].row;
  pool.free.Erase(place);
  return found;
}

bool CachingAllocator::ShouldSplit(const BlockRow& row, std::int64_t size) const {
  const std::int64_t rest = row.size - size;
  if (pools_[row.pool].small || settings_.expandable_segments || rules_.large_splits_from_block) {
    return rest >= kSizes.block;
  }
  return (size < settings_.max_split_size || settings_.splits_everything()) &&
         (rest > kSizes.small || (rules_.large_splits_at_small && rest == kSizes.small));
}

// `block` is in no set. The request takes its beginning.
CachingAllocator::BlockId CachingAllocator::Take(BlockId block, std::int64_t size,
                                                 std::uint32_t tag) {
  if (ShouldSplit(blocks_[block], size)) {
    BlockRow head = blocks_[block];
    head.size = size;
    head.next = kNoBlock;
    const BlockId taken = NewRow(head);
    Link(head.prev, taken);
    Link(taken, block);
    BlockRow& rest = blocks_[block];
    rest.address += static_cast<std::uint64_t>(size);
    rest.size -= size;
    InsertFree(block);
    block = taken;
  }
  BlockRow& row = blocks_[block];
  row.state = State::kUsed;
  row.tag = tag;
  counters_.active += row.size;
  return block;
}

CachingAllocator::BlockId CachingAllocator::NewMemory(std::uint32_t pool, std::int64_t size,
                                                      bool all_given_back) {
  const std::int64_t bytes = SegmentSizeFor(size);
  all_given_back_ = all_given_back;
  if (LimitsFraction() && counters_.reserved + bytes > Allowed()) {
    return kNoBlock;
  }
  if (settings_.expandable_segments) {
    return Expand(pool, size);
  }
  if (!Granted(bytes)) {
    return kNoBlock;
  }
  const std::uint64_t address = driver_.AddressFor(bytes, bytes);
  Made(address, bytes);
  return NewRow({.address = address, .size = bytes, .pool = pool, .state = State::kFree});
}

bool CachingAllocator::Granted(std::int64_t bytes) {
  return counters_.reserved <= kMaxSize && driver_.Grants({.bytes = bytes,
                                                           .reserved = counters_.reserved,
                                                           .given_back = released_,
                                                           .all_given_back = all_given_back_});
}

void CachingAllocator::Made(std::uint64_t address, std::int64_t size) {
  changes_.push_back({address, size, false});
  counters_.reserved += size;
  counters_.reserved_peak = std::max(counters_.reserved_peak, counters_.reserved);
  counters_.largest_segment = std::max(counters_.largest_segment, size);
  ++counters_.segments;
}

// --- looking at it ---

std::vector<CachingAllocator::View> CachingAllocator::Blocks() const {
  std::vector<View> views;
  for (BlockId first = 0; first < blocks_.size(); ++first) {
    if (blocks_[first].state == State::kGone || blocks_[first].prev != kNoBlock) {
      continue;
    }
    for (BlockId block = first; block != kNoBlock; block = blocks_[block].next) {
      const BlockRow& row = blocks_[block];
      if (row.state == State::kUnmapped) {
        continue;
      }
      const Pool& pool = pools_[row.pool];
      views.push_back(
          {.address = row.address,
           .size = row.size,
           .pool = pool.key,
           .small = pool.small,
           .expandable = Expandable(block),
           .used = row.state == State::kUsed || row.state == State::kPending,
           .pending = row.state == State::kPending,
           .begins = row.prev == kNoBlock || blocks_[row.prev].state == State::kUnmapped,
           .tag = row.tag});
    }
  }
  return views;
}

}  // namespace memtool::whatif
