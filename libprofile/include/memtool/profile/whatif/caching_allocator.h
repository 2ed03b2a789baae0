// PyTorch's CUDA caching allocator as a value: what c10/cuda/CUDACachingAllocator.cpp does with a
// request, without a device. Sizes are bytes, addresses are names. Copies are independent.
//
// A block is part of a segment: free, in use, or freed by the program while a stream may still use
// it. Neighbouring free blocks are one block. Segments of a pool (stream, small or large, private
// pool) serve requests of that pool alone. Expandable segments are reservations of addresses whose
// pages are mapped as needed; what is not mapped is a block too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/driver_model.h"
#include "memtool/profile/whatif/free_set.h"

namespace memtool::whatif {

// Variants of single rules that PyTorch does not have: a test switches one on to show that the
// comparison with recordings finds it.
struct Rules {
  bool highest_on_tie = false;
  bool first_fit = false;
  bool large_splits_from_block = false;  // and not above 1 MiB
  bool large_splits_at_small = false;    // a rest of exactly 1 MiB too
  bool no_medium_segments = false;       // 1 to 10 MiB get segments of their own size
  bool own_segment_above = false;        // exactly 10 MiB gets a medium segment
  std::int64_t round_to = kSizes.block;
  bool expandable_best_fit = false;  // by what is mapped alone
  bool base_without_rests = false;   // requests.h
};

struct PoolKey {
  std::uint16_t stream = 0;
  std::uint32_t owner = 0;  // 0 = the default pools, else a private one
};

struct SegmentChange {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  bool released = false;
};

struct AllocatorCounters {
  std::int64_t reserved = 0;
  std::int64_t active = 0;  // blocks in use, with what rounding adds
  std::int64_t reserved_peak = 0;
  std::uint64_t refusals = 0;  // requests that found no memory at first
  std::uint64_t retries = 0;   // everything was given back and the driver asked again
  std::uint64_t failures = 0;
  std::uint64_t segments = 0;  // made, or mapped
  std::uint64_t releases = 0;
  std::int64_t largest_segment = 0;  // made or laid; of a reservation the largest range at once
};

class CachingAllocator {
 public:
  using BlockId = std::uint32_t;
  static constexpr BlockId kNoBlock = UINT32_MAX;
  // Of a request, and of all that is laid: no sum of a few of these leaves the range.
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 60U;

  CachingAllocator(AllocatorSettings settings, DriverModel driver, Rules rules = {});

  // `tag`: the caller's name for the block, below 2^31. kNoBlock: out of memory.
  BlockId Allocate(PoolKey key, std::int64_t requested, std::uint32_t tag);
  // The program frees the block, but a stream may still use it until FreeCompleted.
  void FreeRequested(BlockId block);
  // The memory may be used again; FreeRequested need not have been called.
  void FreeCompleted(BlockId block);
  // FreeCompleted without a trace in changes() and completed().
  void FreeUnseen(BlockId block);
  // Waits for streams, and returns what can be returned.
  void EmptyCache();

  // What the last call did: to segments, and to blocks that were waiting for a stream when all
  // streams were waited for (their tags; they are free now).
  [[nodiscard]] std::span<const SegmentChange> changes() const { return changes_; }
  [[nodiscard]] std::span<const std::uint32_t> completed() const { return completed_; }
  [[nodiscard]] const AllocatorCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t GetAddress(BlockId block) const { return blocks_[block].address; }
  [[nodiscard]] std::int64_t SizeOf(BlockId block) const { return blocks_[block].size; }
  [[nodiscard]] DriverModel& driver() { return driver_; }
  [[nodiscard]] const AllocatorSettings& settings() const { return settings_; }
  // What a request of this many bytes takes.
  [[nodiscard]] std::int64_t RoundedSize(std::int64_t requested) const;
  // Of the segment that is made for a rounded size.
  [[nodiscard]] std::int64_t SegmentSizeFor(std::int64_t rounded) const;

  // --- laying what was there before the first request ---
  struct Laid {
    std::int64_t size = 0;
    std::uint32_t tag = kFreeTag;
    bool pending = false;
  };
  static constexpr std::uint32_t kFreeTag = UINT32_MAX;
  struct LaidSegment {
    PoolKey pool;
    bool small = false;
    std::uint64_t address = 0;
    std::span<const Laid> blocks;  // end to end from `address` on
    // Of an expandable segment: where its reservation begins. Runs of one reservation are laid one
    // after the other, by address.
    bool expandable = false;
    std::uint64_t reservation = 0;
  };
  // `ids`: per block with a tag, its id at [tag].
  void Lay(const LaidSegment& segment, std::span<BlockId> ids);
  // After the last of them.
  void FinishLaying() { FinishReservation(); }

  // --- looking at it ---
  struct View {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    PoolKey pool;
    bool small = false;
    bool expandable = false;
    bool mapped = true;
    bool used = false;
    bool pending = false;
    bool begins = false;  // the first of a segment or reservation
    std::uint32_t tag = kFreeTag;
  };
  // All blocks, by segment; segments in no order. Ranges that are not mapped are left out.
  [[nodiscard]] std::vector<View> Blocks() const;

 private:
  enum class State : std::uint8_t { kGone, kFree, kUsed, kPending, kUnmapped };
  struct BlockRow {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    BlockId prev = kNoBlock;
    BlockId next = kNoBlock;
    std::uint32_t pool = 0;
    std::uint32_t reservation = kNoBlock;  // kNoBlock = a segment of its own
    std::uint32_t tag = kFreeTag;
    std::uint32_t since = 0;  // free: searches until then; pending: its place in pending_
    State state = State::kGone;
  };
  struct Pool {
    PoolKey key;
    bool small = false;
    FreeSet free;
    FreeSet unmapped;  // by address alone
  };
  struct Reservation {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t page = 0;
  };

  std::uint32_t PoolFor(PoolKey key, bool small);
  BlockId NewRow(const BlockRow& row);
  void DropRow(BlockId block);
  void Link(BlockId left, BlockId right);
  [[nodiscard]] bool Expandable(BlockId block) const {
    return blocks_[block].reservation != kNoBlock;
  }
  [[nodiscard]] bool Alone(BlockId block) const {
    return blocks_[block].prev == kNoBlock && blocks_[block].next == kNoBlock;
  }
  [[nodiscard]] static FreeSet::Entry MakeEntry(const BlockRow& row, BlockId id) {
    return {row.state == State::kUnmapped ? 0 : row.size, row.address, id};
  }
  void InsertFree(BlockId block);
  void InsertUnmapped(BlockId block);
  void Remove(BlockId block);  // from the set that it is in
  void MergeInto(BlockId block, BlockId neighbour);
  void Return(BlockId block);  // to the free blocks, merged

  // Searching and splitting: caching_allocator.cc.
  BlockId Search(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] bool Candidate(const Pool& pool, std::int64_t size, FreeSet::Place& place) const;
  [[nodiscard]] std::int64_t GrownSize(BlockId block) const;
  [[nodiscard]] FreeSet::Place FirstFit(const FreeSet& free, std::int64_t size) const;
  [[nodiscard]] bool ShouldSplit(const BlockRow& row, std::int64_t size) const;
  BlockId Take(BlockId block, std::int64_t size, std::uint32_t tag);
  BlockId NewMemory(std::uint32_t pool, std::int64_t size, bool all_given_back);
  bool Granted(std::int64_t bytes);
  void Made(std::uint64_t address, std::int64_t size);

  // Giving back: release.cc.
  bool ReleaseOversize(std::uint32_t pool, std::int64_t size);
  void ReleaseAll();
  void ReleasePool(std::uint32_t pool);
  void ReleaseSegment(BlockId block);
  void CollectGarbage();
  void WaitForStreams();
  void Gave(std::uint64_t address, std::int64_t size);
  [[nodiscard]] bool LimitsFraction() const { return settings_.memory_fraction > 0; }
  [[nodiscard]] std::int64_t Allowed() const;

  // Expandable segments: expandable.cc.
  BlockId Expand(std::uint32_t pool, std::int64_t size);
  BlockId FindRoom(std::uint32_t pool, std::int64_t size);
  bool Map(BlockId block, std::int64_t size);
  void Unmap(BlockId block);
  [[nodiscard]] bool HasRoom(BlockId block, std::int64_t size) const;
  std::uint32_t NewReservation(std::uint32_t pool, std::uint64_t address, std::int64_t size);
  [[nodiscard]] std::int64_t GetPage(bool small) const {
    return small ? kSizes.small_segment : settings_.large_segment;
  }
  BlockId LayUnmapped(std::uint32_t reservation, std::uint32_t pool, std::uint64_t address,
                      std::int64_t size);
  void LayRun(const LaidSegment& segment, std::uint32_t pool, bool first);
  void FinishReservation();

  AllocatorSettings settings_;
  DriverModel driver_;
  Rules rules_;
  AllocatorCounters counters_;
  std::vector<BlockRow> blocks_;
  std::vector<BlockId> unused_rows_;
  std::vector<Pool> pools_;
  std::vector<std::uint32_t> default_pools_;  // of stream · 2 + small
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> private_pools_;
  std::vector<Reservation> reservations_;
  std::vector<BlockId> pending_;
  std::vector<SegmentChange> changes_;
  std::vector<std::uint32_t> completed_;
  std::int64_t released_ = 0;  // during this call
  bool all_given_back_ = false;
  BlockId last_laid_ = kNoBlock;  // of the reservation that is being laid
  std::uint32_t searches_ = 0;    // in the large default pools, while garbage collection is on
};

}  // namespace memtool::whatif
