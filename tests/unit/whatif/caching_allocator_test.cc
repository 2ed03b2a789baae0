// Each rule of the allocator at its border, by hand.
#include "memtool/profile/whatif/caching_allocator.h"

#include <gtest/gtest.h>

namespace memtool::whatif {
namespace {

constexpr std::int64_t kB = 512;

class Program {
 public:
  explicit Program(const std::string& conf = "", std::int64_t limit = kNoLimit,
                   std::int64_t total = std::int64_t{1} << 40U)
      : allocator_(*ParseAllocatorConf(conf), Driver(limit, total)) {}

  std::uint32_t Get(std::int64_t size, std::uint16_t stream = 0, std::uint32_t owner = 0) {
    return allocator_.Allocate({stream, owner}, size, tag_++);
  }
  void Put(std::uint32_t block) { allocator_.FreeCompleted(block); }
  [[nodiscard]] std::int64_t Size(std::uint32_t block) const { return allocator_.SizeOf(block); }
  [[nodiscard]] std::uint64_t At(std::uint32_t block) const { return allocator_.GetAddress(block); }
  [[nodiscard]] std::int64_t reserved() const { return allocator_.counters().reserved; }
  [[nodiscard]] std::uint64_t retries() const { return allocator_.counters().retries; }
  [[nodiscard]] CachingAllocator& allocator() { return allocator_; }
  // Of the segment that a first request makes.
  static std::int64_t GetSegment(std::int64_t size, const std::string& conf = "") {
    Program program(conf);
    program.Get(size);
    return program.reserved();
  }
  // Of the block that a first request gets.
  static std::int64_t GetBlock(std::int64_t size, const std::string& conf = "") {
    Program program(conf);
    return program.Size(program.Get(size));
  }

 private:
  static DriverModel Driver(std::int64_t limit, std::int64_t total) {
    DriverModel driver;
    driver.limit = limit;
    driver.total = total;
    return driver;
  }
  CachingAllocator allocator_;
  std::uint32_t tag_ = 0;
};

TEST(CachingAllocator, SizesAreRoundedTo512) {
  EXPECT_EQ(Program::GetBlock(1), kB);
  EXPECT_EQ(Program::GetBlock(512), kB);
  EXPECT_EQ(Program::GetBlock(513), 2 * kB);
}

TEST(CachingAllocator, SegmentSizesAtTheirBorders) {
  EXPECT_EQ(Program::GetSegment(kMiB), 2 * kMiB);
  EXPECT_EQ(Program::GetSegment(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(Program::GetSegment(10 * kMiB - kB), 20 * kMiB);
  EXPECT_EQ(Program::GetSegment(10 * kMiB - kB + 1), 10 * kMiB) << "10 MiB after rounding";
  EXPECT_EQ(Program::GetSegment(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(Program::GetSegment(10 * kMiB + 1), 12 * kMiB);
  EXPECT_EQ(Program::GetSegment(5 * kMiB, "large_segment_size_mb:32"), 32 * kMiB);
}

TEST(CachingAllocator, PowersOfTwo) {
  const std::string conf = "roundup_power2_divisions:4";
  EXPECT_EQ(Program::GetBlock(4 * kB, conf), 4 * kB) << "not above 512 × 4";
  EXPECT_EQ(Program::GetBlock(4 * kB + 1, conf), 5 * kB) << "2048 / 4 = 512";
  EXPECT_EQ(Program::GetBlock(1200000, conf), 1310720) << "1 MiB · 5 / 4";
  EXPECT_EQ(Program::GetBlock(2 * kMiB, conf), 2 * kMiB) << "powers of two stay";
  EXPECT_EQ(Program::GetBlock(1500, "roundup_power2_divisions:1"), 3 * kB);
  // The end is not forced to a multiple of 512: 512 · 64 < 33000, the step is 32768 / 64.
  EXPECT_EQ(Program::GetBlock(33000, "roundup_power2_divisions:64"), 33280);
  // Pool and segment go by the rounded size.
  EXPECT_EQ(Program::GetSegment(1000000, "roundup_power2_divisions:2"), 2 * kMiB);
  EXPECT_EQ(Program::GetSegment(9000000, "roundup_power2_divisions:2"), 12 * kMiB);
  // Each interval has its own: 2 MiB and above by halves, below by 512 bytes.
  EXPECT_EQ(Program::GetBlock(3 * kMiB / 2 + 1, "roundup_power2_divisions:[1:1,>:2]"),
            3 * kMiB / 2 + kB);
  EXPECT_EQ(Program::GetBlock(2 * kMiB + 1, "roundup_power2_divisions:[1:1,>:2]"), 3 * kMiB);
}

// A large block is divided when more than 1 MiB is left over, a small one from 512 bytes on.
TEST(CachingAllocator, RestsAtTheirBorders) {
  Program large;
  large.Put(large.Get(20 * kMiB));
  EXPECT_EQ(large.Size(large.Get(19 * kMiB)), 20 * kMiB) << "a rest of 1 MiB is no block";
  Program more;
  more.Put(more.Get(20 * kMiB));
  EXPECT_EQ(more.Size(more.Get(19 * kMiB - kB)), 19 * kMiB - kB);
  Program expandable("expandable_segments:True");
  expandable.Put(expandable.Get(20 * kMiB));
  EXPECT_EQ(expandable.Size(expandable.Get(20 * kMiB - kB)), 20 * kMiB - kB);
  Program small;
  EXPECT_EQ(small.Size(small.Get(kMiB)), kMiB);
  EXPECT_EQ(small.Size(small.Get(kMiB - kB)), kMiB - kB);
  EXPECT_EQ(small.reserved(), 2 * kMiB);
  small.Get(kB);
  EXPECT_EQ(small.reserved(), 2 * kMiB);
  small.Get(kB);
  EXPECT_EQ(small.reserved(), 4 * kMiB);
}

TEST(CachingAllocator, BestFitThenLowestAddress) {
  Program program;
  const auto a = program.Get(40 * kMiB);
  const auto b = program.Get(30 * kMiB);
  const auto c = program.Get(30 * kMiB);
  const std::uint64_t high = program.At(b);
  const std::uint64_t low = program.At(c);
  ASSERT_LT(low, high) << "segments get falling addresses";
  for (const auto block : {a, b, c}) {
    program.Put(block);
  }
  EXPECT_EQ(program.At(program.Get(30 * kMiB)), low);
  EXPECT_EQ(program.At(program.Get(30 * kMiB)), high);
}

TEST(CachingAllocator, FreeNeighboursAreOneBlock) {
  Program program;
  const auto a = program.Get(5 * kMiB);
  const auto b = program.Get(5 * kMiB);
  const auto c = program.Get(5 * kMiB);
  const std::uint64_t begin = program.At(a);
  program.Put(a);
  program.Put(c);
  program.Put(b);
  EXPECT_EQ(program.allocator().Blocks().size(), 1U);
  EXPECT_EQ(program.At(program.Get(9 * kMiB)), begin);
  EXPECT_EQ(program.reserved(), 20 * kMiB);
}

TEST(CachingAllocator, StreamsAndPrivatePoolsShareNothing) {
  Program program;
  program.Put(program.Get(30 * kMiB, 0));
  program.Get(30 * kMiB, 1);
  program.Get(30 * kMiB, 0, 1);
  EXPECT_EQ(program.reserved(), 90 * kMiB);
  program.allocator().EmptyCache();
  EXPECT_EQ(program.reserved(), 60 * kMiB);
}

TEST(CachingAllocator, PrivatePoolsKeepTheirMemory) {
  Program program;
  program.Put(program.Get(30 * kMiB, 0, 1));
  program.allocator().EmptyCache();
  EXPECT_EQ(program.reserved(), 30 * kMiB);
}

// A block that a stream still uses is neither live nor free; giving back waits for it.
TEST(CachingAllocator, DelayedFrees) {
  Program program;
  const auto block = program.Get(30 * kMiB);
  program.allocator().FreeRequested(block);
  program.Get(30 * kMiB);
  EXPECT_EQ(program.reserved(), 60 * kMiB);
  program.allocator().EmptyCache();
  EXPECT_EQ(program.reserved(), 30 * kMiB);
  ASSERT_EQ(program.allocator().completed().size(), 1U);
  EXPECT_EQ(program.allocator().completed()[0], 0U) << "its tag";
}

TEST(CachingAllocator, GivesEverythingBackBeforeItFails) {
  Program program("", 100 * kMiB);
  program.Put(program.Get(60 * kMiB));
  EXPECT_NE(program.Get(100 * kMiB), CachingAllocator::kNoBlock);
  EXPECT_EQ(program.retries(), 1U);
  EXPECT_EQ(program.Get(kB), CachingAllocator::kNoBlock);
  EXPECT_EQ(program.allocator().counters().failures, 1U);
  EXPECT_EQ(program.reserved(), 100 * kMiB);
}

TEST(CachingAllocator, TheLimitMayBeReached) {
  EXPECT_NE(Program("", 30 * kMiB).Get(30 * kMiB), CachingAllocator::kNoBlock);
  EXPECT_EQ(Program("", 30 * kMiB - 1).Get(30 * kMiB), CachingAllocator::kNoBlock);
}

// --- max_split_size ---

TEST(CachingAllocator, OversizeBlocksAreNotForSmallerRequests) {
  Program program("max_split_size_mb:32");
  const auto oversize = program.Get(32 * kMiB);
  program.Put(oversize);
  program.Get(20 * kMiB);
  EXPECT_EQ(program.reserved(), 52 * kMiB) << "a block of exactly the limit is oversize";
  Program below("max_split_size_mb:32");
  below.Put(below.Get(30 * kMiB));
  below.Get(20 * kMiB);
  EXPECT_EQ(below.reserved(), 30 * kMiB);
}

TEST(CachingAllocator, OversizeRequestsTakeWhatIsNotMuchLarger) {
  Program program("max_split_size_mb:32");
  program.Put(program.Get(60 * kMiB));
  EXPECT_EQ(program.Size(program.Get(40 * kMiB + kB)), 60 * kMiB) << "and are not divided";
  Program far("max_split_size_mb:32");
  far.Put(far.Get(60 * kMiB));
  far.Get(40 * kMiB);
  EXPECT_EQ(far.reserved(), 100 * kMiB) << "from 20 MiB more on it is too large";
  Program wide("max_split_size_mb:32,max_non_split_rounding_mb:21");
  wide.Put(wide.Get(60 * kMiB));
  EXPECT_EQ(wide.Size(wide.Get(40 * kMiB)), 60 * kMiB);
}

TEST(CachingAllocator, OneOversizeBlockIsGivenBackForARequest) {
  Program program("max_split_size_mb:32", 150 * kMiB);
  const auto a = program.Get(60 * kMiB);
  const auto b = program.Get(80 * kMiB);
  program.Put(a);
  program.Put(b);
  program.Get(36 * kMiB);  // 60 and 80 are too large for it; the smaller one goes
  EXPECT_EQ(program.retries(), 0U);
  EXPECT_EQ(program.reserved(), 116 * kMiB);
}

TEST(CachingAllocator, SeveralOversizeBlocksAreGivenBackFromTheLargest) {
  Program program("max_split_size_mb:32", 150 * kMiB);
  const auto a = program.Get(40 * kMiB);
  const auto b = program.Get(50 * kMiB);
  const auto c = program.Get(60 * kMiB);
  for (const auto block : {a, b, c}) {
    program.Put(block);
  }
  program.Get(100 * kMiB);  // 60 and 50 are enough
  EXPECT_EQ(program.retries(), 0U);
  EXPECT_EQ(program.reserved(), 140 * kMiB);
}

// --- garbage collection ---

TEST(CachingAllocator, GarbageCollectionNeedsAFraction) {
  Program alone("garbage_collection_threshold:0.5", kNoLimit, 100 * kMiB);
  alone.Put(alone.Get(60 * kMiB));
  alone.Get(70 * kMiB);
  EXPECT_EQ(alone.reserved(), 130 * kMiB);
  Program both("garbage_collection_threshold:0.5,per_process_memory_fraction:1.0", kNoLimit,
               200 * kMiB);
  both.Put(both.Get(110 * kMiB));
  both.Get(120 * kMiB);
  EXPECT_EQ(both.reserved(), 120 * kMiB);
  EXPECT_EQ(both.retries(), 0U);
}

TEST(CachingAllocator, GarbageIsWhatIsOlderThanTheMean) {
  Program program("garbage_collection_threshold:0.5,per_process_memory_fraction:1.0", kNoLimit,
                  400 * kMiB);
  const auto old = program.Get(100 * kMiB);
  const auto recent = program.Get(102 * kMiB);
  program.Put(old);
  for (int i = 0; i < 3; ++i) {
    program.Put(program.Get(30 * kMiB, 5));  // searches; its block is as old as the last
  }
  program.Put(recent);
  program.Get(110 * kMiB);  // 232 of 200 allowed: the old one alone is enough
  EXPECT_EQ(program.reserved(), (102 + 30 + 110) * kMiB);
}

TEST(CachingAllocator, AFractionLimitsLikeACard) {
  Program program("per_process_memory_fraction:0.5", kNoLimit, 100 * kMiB);
  EXPECT_NE(program.Get(50 * kMiB), CachingAllocator::kNoBlock);
  EXPECT_EQ(program.Get(kB), CachingAllocator::kNoBlock);
}

// --- expandable segments ---

TEST(CachingAllocator, PagesAreMappedAsNeeded) {
  Program program("expandable_segments:True");
  const auto a = program.Get(30 * kMiB);
  EXPECT_EQ(program.reserved(), 40 * kMiB);
  const auto b = program.Get(25 * kMiB);
  EXPECT_EQ(program.reserved(), 60 * kMiB);
  EXPECT_EQ(program.At(b), program.At(a) + 30 * kMiB);
  program.Get(kMiB);
  EXPECT_EQ(program.reserved(), 62 * kMiB) << "pages of 2 MiB for small blocks";
}

TEST(CachingAllocator, OnlyWholePagesAreGivenBack) {
  Program program("expandable_segments:True");
  const auto a = program.Get(30 * kMiB);
  const auto b = program.Get(45 * kMiB);
  program.Get(5 * kMiB);
  ASSERT_EQ(program.reserved(), 80 * kMiB);
  program.Put(b);  // 30 to 75: the page from 40 to 60
  program.allocator().EmptyCache();
  EXPECT_EQ(program.reserved(), 60 * kMiB);
  // What is free before the hole and the hole itself serve the next request.
  EXPECT_EQ(program.At(program.Get(25 * kMiB)), program.At(a) + 30 * kMiB);
  EXPECT_EQ(program.reserved(), 80 * kMiB);
}

TEST(CachingAllocator, ABlockThatCanGrowCountsAsWhatItCanBecome) {
  Program program("expandable_segments:True");
  const auto a = program.Get(20 * kMiB);
  const auto wall = program.Get(10 * kMiB);
  program.Get(5 * kMiB);  // 35 of 40: 5 MiB at the end, before what is not mapped
  program.Put(a);
  // Best fit is the end (5 MiB); what it can become is larger than the hole of 20 MiB.
  EXPECT_LT(program.At(program.Get(4 * kMiB)), program.At(wall));
}

TEST(CachingAllocator, WhatIsMappedStaysWhenARequestFails) {
  Program program("expandable_segments:True", 60 * kMiB);
  program.Get(50 * kMiB);
  EXPECT_EQ(program.reserved(), 60 * kMiB);
  EXPECT_EQ(program.Get(11 * kMiB), CachingAllocator::kNoBlock);
  EXPECT_EQ(program.reserved(), 60 * kMiB);
  EXPECT_NE(program.Get(10 * kMiB), CachingAllocator::kNoBlock);
}

TEST(CachingAllocator, CopiesAreIndependent) {
  Program program;
  const auto block = program.Get(30 * kMiB);
  CachingAllocator copy = program.allocator();
  copy.FreeCompleted(block);
  copy.EmptyCache();
  EXPECT_EQ(copy.counters().reserved, 0);
  EXPECT_EQ(program.reserved(), 30 * kMiB);
}

}  // namespace
}  // namespace memtool::whatif
