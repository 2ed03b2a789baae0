// Segments whose pages are mapped as they are needed.
#include <algorithm>

#include "memtool/profile/whatif/caching_allocator.h"

namespace memtool::whatif {

CachingAllocator::BlockId CachingAllocator::LayUnmapped(std::uint32_t reservation,
                                                        std::uint32_t pool, std::uint64_t address,
                                                        std::int64_t size) {
  const BlockId block = NewRow({.address = address,
                                .size = size,
                                .pool = pool,
                                .reservation = reservation,
                                .state = State::kUnmapped});
  InsertUnmapped(block);
  return block;
}

std::uint32_t CachingAllocator::NewReservation(std::uint32_t pool, std::uint64_t address,
                                               std::int64_t size) {
  reservations_.push_back({.address = address, .size = size, .page = GetPage(pools_[pool].small)});
  return static_cast<std::uint32_t>(reservations_.size() - 1);
}

// Whether free and unmapped blocks from here on cover the request.
bool CachingAllocator::HasRoom(BlockId block, std::int64_t size) const {
  std::int64_t bytes = 0;
  for (; block != kNoBlock && bytes < size; block = blocks_[block].next) {
    if (blocks_[block].state != State::kFree && blocks_[block].state != State::kUnmapped) {
      return false;
    }
    bytes += blocks_[block].size;
  }
  return bytes >= size;
}

// The lowest place where free and unmapped memory covers the request; a free block just before an
// unmapped one is a part of it.
CachingAllocator::BlockId CachingAllocator::FindRoom(std::uint32_t pool, std::int64_t size) {
  const FreeSet& unmapped = pools_[pool].unmapped;
  for (auto at = unmapped.Begin(); !unmapped.AtEnd(at); at = unmapped.Next(at)) {
    BlockId block = unmapped[at].row;
    const BlockId prev = blocks_[block].prev;
    block = prev != kNoBlock && blocks_[prev].state == State::kFree ? prev : block;
    if (HasRoom(block, size)) {
      return block;
    }
  }
  // One and one eighth of the card, so that pages can move to the end.
  const std::int64_t page = GetPage(pools_[pool].small);
  const std::int64_t whole = driver_.total + driver_.total / 8;
  const std::int64_t bytes = (std::max(whole, size) + page - 1) / page * page;
  const std::uint64_t address = driver_.AddressFor(bytes, (size + page - 1) / page * page);
  return LayUnmapped(NewReservation(pool, address, bytes), pool, address, bytes);
}

// Maps at least `size` bytes from the beginning of an unmapped block, in whole pages, and makes
// them one with free neighbours: a free block in its set, with the block's id.
bool CachingAllocator::Map(BlockId block, std::int64_t size) {
  const Reservation reservation = reservations_[blocks_[block].reservation];
  const auto begin = static_cast<std::int64_t>(blocks_[block].address - reservation.address);
  const std::int64_t end =
      (begin + size + reservation.page - 1) / reservation.page * reservation.page;
  const std::int64_t bytes = std::min(end - begin, blocks_[block].size);
  if (!Granted(bytes)) {
    return false;
  }
  Remove(block);
  const std::uint64_t address = blocks_[block].address;
  if (bytes < blocks_[block].size) {
    const BlockRow& row = blocks_[block];
    const BlockId after = row.next;
    const BlockId rest = LayUnmapped(row.reservation, row.pool,
                                     address + static_cast<std::uint64_t>(bytes), row.size - bytes);
    Link(block, rest);
    Link(rest, after);
    blocks_[block].size = bytes;
  }
  Made(address, bytes);
  Return(block);
  return true;
}

CachingAllocator::BlockId CachingAllocator::Expand(std::uint32_t pool, std::int64_t size) {
  BlockId block = FindRoom(pool, size);
  if (blocks_[block].state == State::kUnmapped &&
      !Map(block, std::min(blocks_[block].size, size))) {
    return kNoBlock;
  }
  // What was mapped stays so when a later part fails.
  while (blocks_[block].size < size) {
    const BlockId next = blocks_[block].next;
    if (!Map(next, std::min(size - blocks_[block].size, blocks_[next].size))) {
      return kNoBlock;
    }
    block = next;
  }
  Remove(block);
  return block;
}

// Gives back the pages that lie wholly in a free block; what is left of it at both ends stays.
void CachingAllocator::Unmap(BlockId block) {
  const Reservation reservation = reservations_[blocks_[block].reservation];
  const BlockRow whole = blocks_[block];
  const auto from = static_cast<std::int64_t>(whole.address - reservation.address);
  const std::int64_t begin = (from + reservation.page - 1) / reservation.page * reservation.page;
  const std::int64_t end = (from + whole.size) / reservation.page * reservation.page;
  if (begin >= end) {
    return;
  }
  Remove(block);
  const auto part = [&](std::int64_t at, std::int64_t size) {
    return NewRow({.address = reservation.address + static_cast<std::uint64_t>(at),
                   .size = size,
                   .pool = whole.pool,
                   .reservation = whole.reservation,
                   .state = State::kFree});
  };
  if (begin > from) {
    const BlockId before = part(from, begin - from);
    Link(whole.prev, before);
    Link(before, block);
    InsertFree(before);
  }
  if (end < from + whole.size) {
    const BlockId after = part(end, from + whole.size - end);
    Link(after, whole.next);
    Link(block, after);
    InsertFree(after);
  }
  blocks_[block].address = reservation.address + static_cast<std::uint64_t>(begin);
  blocks_[block].size = end - begin;
  Gave(blocks_[block].address, end - begin);
  for (const BlockId neighbour : {blocks_[block].prev, blocks_[block].next}) {
    if (neighbour != kNoBlock && blocks_[neighbour].state == State::kUnmapped) {
      MergeInto(block, neighbour);
    }
  }
  InsertUnmapped(block);
}

// A run of mapped pages behind what is laid of its reservation already, or the first of one.
void CachingAllocator::LayRun(const LaidSegment& segment, std::uint32_t pool, bool first) {
  if (first) {
    const std::int64_t page = GetPage(segment.small);
    const std::int64_t whole = driver_.total + driver_.total / 8;
    NewReservation(pool, segment.reservation, (whole + page - 1) / page * page);
  }
  const auto reservation = static_cast<std::uint32_t>(reservations_.size() - 1);
  const std::uint64_t from =
      first ? segment.reservation
            : blocks_[last_laid_].address + static_cast<std::uint64_t>(blocks_[last_laid_].size);
  if (from < segment.address) {
    const BlockId gap =
        LayUnmapped(reservation, pool, from, static_cast<std::int64_t>(segment.address - from));
    Link(last_laid_, gap);
    last_laid_ = gap;
  }
}

// After the last run of a reservation: the rest of its addresses.
void CachingAllocator::FinishReservation() {
  if (last_laid_ == kNoBlock || !Expandable(last_laid_)) {
    return;
  }
  const BlockRow last = blocks_[last_laid_];
  const Reservation& reservation = reservations_[last.reservation];
  const std::uint64_t from = last.address + static_cast<std::uint64_t>(last.size);
  const std::uint64_t until = reservation.address + static_cast<std::uint64_t>(reservation.size);
  if (from < until) {
    Link(last_laid_,
         LayUnmapped(last.reservation, last.pool, from, static_cast<std::int64_t>(until - from)));
  }
  last_laid_ = kNoBlock;
}

}  // namespace memtool::whatif
