// What empty_cache() returns: whole segments, and from expandable ones the pages that lie wholly in
// a free block; nothing from private pools.
#include "memtool/profile/allocator/free_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace memtool {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
constexpr std::uint64_t kFirstAddress =
    0x7f0000300000;  // no multiple of a page: pages count from here

// Blocks of these sizes, one after the other; a negative size is a free block.
FreeMemory Of(Segment segment, const std::vector<std::int64_t>& sizes, std::int64_t request = 0) {
  std::vector<Block> blocks;
  segment.address = kFirstAddress;
  for (const std::int64_t size : sizes) {
    const bool free = size < 0;
    blocks.push_back({.address = kFirstAddress + static_cast<std::uint64_t>(segment.size),
                      .size = free ? -size : size,
                      .state = free ? BlockState::kInactive : BlockState::kActive});
    segment.size += blocks.back().size;
    segment.active += free ? 0 : size;
  }
  FreeMemory free = FreeIn(segment, blocks, request);
  EXPECT_EQ(free.returnable + free.reuse_only + free.private_pool + free.unlisted,
            segment.size - segment.active);
  return free;
}

TEST(FreeMemory, AnUnusedSegmentGoesBackWhole) {
  const FreeMemory free = Of({}, {-40 * kMiB});
  EXPECT_EQ(free.returnable, 40 * kMiB);
  EXPECT_EQ(free.unused_segments, 1);
  EXPECT_EQ(free.gaps, 0);
}

TEST(FreeMemory, OfASegmentInUseNothingGoesBack) {
  const FreeMemory free = Of({}, {-60 * kMiB, kMiB, -60 * kMiB});
  EXPECT_EQ(free.returnable, 0);
  EXPECT_EQ(free.reuse_only, 120 * kMiB);
  EXPECT_EQ(free.gaps, 2);
}

TEST(FreeMemory, WholePagesOfExpandableSegmentsGoBack) {
  // Pages at 0, 20, 40, 60, 80 MiB: of 5 to 85, three are whole; of 86 to 100 none.
  const FreeMemory free = Of({.expandable = true}, {5 * kMiB, -80 * kMiB, kMiB, -14 * kMiB});
  EXPECT_EQ(free.returnable, 60 * kMiB);
  EXPECT_EQ(free.pages, 3);
  EXPECT_EQ(free.paged_segments, 1);
  EXPECT_EQ(free.reuse_only, 34 * kMiB);
  EXPECT_EQ(free.gaps, 2);
  EXPECT_EQ(free.unused_segments, 0);
}

// Gaps of 60 and 14 MiB next to a block: a request of 20 MiB fits in the first only.
TEST(FreeMemory, FragmentedIsWhatTheRequestDoesNotFitIn) {
  const std::vector<std::int64_t> sizes{-60 * kMiB, kMiB, -14 * kMiB};
  EXPECT_EQ(Of({}, sizes, 14 * kMiB).fragmented, 0);
  EXPECT_EQ(Of({}, sizes, 20 * kMiB).fragmented, 14 * kMiB);
  EXPECT_EQ(Of({}, sizes, 20 * kMiB).reusable(), 60 * kMiB);
  EXPECT_EQ(Of({}, sizes, 61 * kMiB).fragmented, 74 * kMiB);
  EXPECT_EQ(Of({}, {-60 * kMiB}, 61 * kMiB).fragmented, 0) << "goes back whole";
  EXPECT_EQ(Of({.pool_id = 1}, sizes, 61 * kMiB).fragmented, 0) << "is its pool's";
}

// Of 80 MiB after 5, three pages can be returned, and the 20 MiB around them are too little.
TEST(FreeMemory, WhatIsReturnableIsNotFragmented) {
  const FreeMemory free = Of({.expandable = true}, {5 * kMiB, -80 * kMiB, kMiB}, 100 * kMiB);
  EXPECT_EQ(free.returnable, 60 * kMiB);
  EXPECT_EQ(free.fragmented, 20 * kMiB);
  EXPECT_EQ(Of({.expandable = true}, {5 * kMiB, -80 * kMiB, kMiB}, 80 * kMiB).fragmented, 0);
}

TEST(FreeMemory, AGapOfWholePagesLeavesNoGap) {
  const FreeMemory free = Of({.expandable = true}, {20 * kMiB, -40 * kMiB, 20 * kMiB});
  EXPECT_EQ(free.returnable, 40 * kMiB);
  EXPECT_EQ(free.gaps, 0);
}

TEST(FreeMemory, PagesOfSmallSegmentsAreSmall) {
  const FreeMemory free =
      Of({.small = true, .expandable = true}, {kMiB, -4 * kMiB, kMiB, -2 * kMiB});
  EXPECT_EQ(free.returnable, 4 * kMiB);  // 2 to 4 MiB, and the last two
  EXPECT_EQ(free.reuse_only, 2 * kMiB);
}

TEST(FreeMemory, PrivatePoolsKeepTheirs) {
  for (const Segment& segment : {Segment{.pool_id = 1}, Segment{.pool_owner = 2},
                                 Segment{.expandable = true, .pool_id = 1}}) {
    const FreeMemory unused = Of(segment, {-60 * kMiB});
    EXPECT_EQ(unused.private_pool, 60 * kMiB);
    EXPECT_EQ(unused.private_segments, 1);
    EXPECT_EQ(unused.unused_segments, 0);
    EXPECT_EQ(Of(segment, {kMiB, -60 * kMiB}).private_pool, 60 * kMiB);
    EXPECT_EQ(Of(segment, {kMiB}).private_segments, 0);
  }
}

TEST(FreeMemory, WhatNoBlockListsIsUnknown) {
  const Segment segment{.size = 20 * kMiB, .active = 5 * kMiB};
  const FreeMemory free = FreeIn(segment, {}, 0);
  EXPECT_EQ(free.unlisted, 15 * kMiB);
  EXPECT_EQ(free.returnable + free.reuse_only, 0);
  EXPECT_EQ(FreeIn({.size = 20 * kMiB}, {}, 0).returnable, 20 * kMiB);
}

TEST(FreeMemory, HostileBlocksDoNotOverflow) {
  const std::vector<Block> blocks{{.address = 0, .size = INT64_MAX},
                                  {.address = UINT64_MAX, .size = INT64_MAX},
                                  {.address = (std::uint64_t{1} << 63U) - 1, .size = INT64_MAX},
                                  {.address = 1, .size = INT64_MIN}};
  const Segment segment{
      .address = 1, .size = INT64_MAX, .active = 1, .block_count = 4, .expandable = true};
  EXPECT_EQ(FreeIn(segment, blocks, 0).pages, 0);
}

TEST(FreeMemory, SumsAdd) {
  FreeMemory sum = Of({}, {-40 * kMiB});
  sum.Add(Of({.pool_id = 1}, {-60 * kMiB}));
  sum.Add(Of({.expandable = true}, {kMiB, -60 * kMiB}));
  EXPECT_EQ(sum.returnable, 80 * kMiB);
  EXPECT_EQ(sum.private_pool, 60 * kMiB);
  EXPECT_EQ(sum.reuse_only, 20 * kMiB);
  EXPECT_EQ(sum.unused_segments, 1);
  EXPECT_EQ(sum.pages, 2);
}

}  // namespace
}  // namespace memtool
