#include "memtool/profile/account/oom.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {
namespace {

constexpr std::int64_t kOomMiB = std::int64_t{1} << 20U;

Quantity Reported(std::int64_t bytes, std::int64_t precision = 0) {
  return {.bytes = bytes, .precision = precision, .source = "test"};
}

std::int64_t Sum(const MemoryBreakdown& breakdown) {
  return std::accumulate(
      breakdown.parts.begin(), breakdown.parts.end(), std::int64_t{0},
      [](std::int64_t sum, const OomPart& part) { return SaturatingAdd(sum, part.bytes); });
}

std::int64_t MakePart(const MemoryBreakdown& breakdown, std::string_view key) {
  for (const OomPart& part : breakdown.parts) {
    if (part.key == key) {
      return part.bytes;
    }
  }
  return -1;
}

OomFacts Card() {
  return {.requested_bytes = Reported(200),
          .segment_size = Reported(200),
          .free = Reported(100),
          .capacity = Reported(1000),
          .process = Reported(850),
          .live = Reported(500),
          .cached = Reported(300)};
}

TEST(MemoryBreakdown, EveryStep) {
  const auto breakdown = MakeBreakdown(Card());
  ASSERT_TRUE(breakdown);
  EXPECT_EQ(breakdown->kind, BreakdownTotal::kCapacity);
  EXPECT_EQ(MakePart(*breakdown, "free"), 100);
  EXPECT_EQ(MakePart(*breakdown, "live"), 500);
  EXPECT_EQ(MakePart(*breakdown, "cached"), 300);
  EXPECT_EQ(MakePart(*breakdown, "non_framework"), 50);
  EXPECT_EQ(MakePart(*breakdown, "other"), 50);
  EXPECT_TRUE(breakdown->adds_up);
  EXPECT_EQ(Sum(*breakdown), 1000);
}

TEST(MemoryBreakdown, PrivatePoolsAreTakenOutOfWhatAMessageCallsAllocated) {
  OomFacts facts = Card();
  facts.private_pools = Reported(120);
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(MakePart(*breakdown, "live"), 380);
  EXPECT_EQ(MakePart(*breakdown, "private_pools"), 120);
  EXPECT_EQ(Sum(*breakdown), 1000);
}

TEST(MemoryBreakdown, WithoutTheDevice) {
  OomFacts facts = Card();
  facts.capacity.reset();
  auto breakdown = MakeBreakdown(facts);
  EXPECT_EQ(breakdown->kind, BreakdownTotal::kKnown);
  EXPECT_EQ(breakdown->whole.bytes, 900);
  facts.free.reset();
  breakdown = MakeBreakdown(facts);
  EXPECT_EQ(breakdown->kind, BreakdownTotal::kReserved);
  EXPECT_EQ(breakdown->whole.bytes, 800);
  facts.live.reset();
  EXPECT_FALSE(MakeBreakdown(facts));
}

TEST(MemoryBreakdown, AProcessSmallerThanItsAllocatorIsNotUsed) {
  OomFacts facts = Card();
  facts.process = Reported(700);
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_TRUE(breakdown->process_unusable);
  EXPECT_EQ(MakePart(*breakdown, "outside"), 100);
  EXPECT_EQ(MakePart(*breakdown, "non_framework"), -1);
}

TEST(MemoryBreakdown, ContradictionsAreShown) {
  OomFacts facts = Card();
  facts.capacity = Reported(850);
  facts.process.reset();
  const auto breakdown = MakeBreakdown(facts);
  EXPECT_FALSE(breakdown->adds_up);
  EXPECT_EQ(MakePart(*breakdown, "outside"), -50);
  facts.capacity = Reported(850, 60);
  EXPECT_TRUE(MakeBreakdown(facts)->adds_up) << "rounding explains it";
}

// Whatever is known and whatever the figures are, parts sum to the whole.
TEST(MemoryBreakdown, PartsSumToTheWhole) {
  std::mt19937_64 random(20261121);
  const auto size = [&random] { return static_cast<std::int64_t>(random() >> 20U); };
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = random();
    OomFacts facts;
    const auto fill = [&](std::optional<Quantity>& fact, unsigned bit) {
      if ((bits >> bit & 1U) != 0) {
        fact = Reported(size(), size() >> 30U);
      }
    };
    fill(facts.requested_bytes, 0);
    fill(facts.free, 1);
    fill(facts.capacity, 2);
    fill(facts.process, 3);
    fill(facts.live, 4);
    fill(facts.pending, 5);
    fill(facts.cached, 6);
    fill(facts.private_pools, 7);
    fill(facts.limit, 8);
    const auto breakdown = MakeBreakdown(facts);
    ASSERT_EQ(breakdown.has_value(), facts.live.has_value());
    if (breakdown) {
      ASSERT_EQ(Sum(*breakdown), breakdown->whole.bytes) << i;
    }
    const OomVerdict verdict = Judge(facts, nullptr);
    ASSERT_GE(verdict.short_of_driver, 0);
    ASSERT_GE(verdict.short_in_all, 0);
  }
}

TEST(OomVerdict, FragmentationIsEnoughCached) {
  const OomVerdict verdict = Judge(Card(), nullptr);
  EXPECT_EQ(verdict.why, OomCause::kFragmentation);
  EXPECT_EQ(verdict.short_of_driver, 100);
  EXPECT_EQ(verdict.in_all, 400);
  EXPECT_FALSE(verdict.close);
}

TEST(OomVerdict, FullIsTooLittleInAll) {
  OomFacts facts = Card();
  facts.requested_bytes = facts.segment_size = Reported(450);
  const OomVerdict verdict = Judge(facts, nullptr);
  EXPECT_EQ(verdict.why, OomCause::kFull);
  EXPECT_EQ(verdict.short_in_all, 50);
  facts.cached = Reported(440, 20);
  EXPECT_TRUE(Judge(facts, nullptr).close) << "with 450 cached it would be fragmentation";
}

// 100 free and 300 cached: 350 fit into neither, though both together are more.
TEST(OomVerdict, MoreThanAllThatIsCachedIsNotFragmentation) {
  OomFacts facts = Card();
  facts.requested_bytes = facts.segment_size = Reported(350);
  const OomVerdict verdict = Judge(facts, nullptr);
  EXPECT_EQ(verdict.why, OomCause::kFull);
  EXPECT_EQ(verdict.short_in_all, 0);
  EXPECT_EQ(verdict.short_of_driver, 250);
}

TEST(OomVerdict, LimitOfTheAllocator) {
  OomFacts facts = Card();
  facts.free = Reported(5000);
  facts.limit = Reported(900);
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kLimit);
  facts.limit = Reported(1010);
  facts.free = Reported(std::int64_t{5} << 20U);
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kUnexplained);
  facts.limit = Reported(1010, 20);
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kLimit);
  EXPECT_TRUE(Judge(facts, nullptr).close);
}

TEST(OomVerdict, TheDriverKeepsItsLastPage) {
  constexpr std::int64_t kKiB = 1024;
  constexpr std::int64_t kMiB = 1024 * kKiB;
  const auto judge = [](std::int64_t requested, std::int64_t free,
                        std::optional<std::int64_t> cached) {
    return Judge({.requested_bytes = Reported(requested),
                  .segment_size = Reported(requested),
                  .free = Reported(free),
                  .capacity = Reported(8192 * kMiB),
                  .live = Reported(4096 * kMiB),
                  .cached = cached ? std::optional(Reported(*cached)) : std::nullopt},
                 nullptr);
  };
  for (const auto& [requested, free] :
       {std::pair(2 * kMiB, 2500 * kKiB), {1200 * kKiB, 3700 * kKiB}, {20 * kMiB, 21900 * kKiB}}) {
    const OomVerdict verdict = judge(requested, free, 100 * kKiB);
    EXPECT_EQ(verdict.why, OomCause::kFull);
    EXPECT_TRUE(verdict.last_page);
    EXPECT_GT(verdict.short_in_all, 0);
    EXPECT_LE(verdict.short_in_all, 2 * kMiB);
    EXPECT_EQ(judge(requested, free, {}).why, OomCause::kFull);
    EXPECT_EQ(judge(requested, free, 64 * kMiB).why, OomCause::kFragmentation);
    EXPECT_EQ(judge(requested, free + 2 * kMiB, 64 * kMiB).why, OomCause::kUnexplained);
  }
}

TEST(OomVerdict, WhatIsNotKnownIsNotJudged) {
  OomFacts facts = Card();
  facts.cached.reset();
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kUnknown);
  facts = Card();
  facts.free.reset();
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kUnknown);
  facts = Card();
  facts.requested_bytes.reset();
  EXPECT_EQ(Judge(facts, nullptr).why, OomCause::kUnknown);
}

TEST(OomVerdict, OnlyWhatTheRequestCanUseCounts) {
  OomState state{.usable_free = 50, .usable_pieces = 2, .usable_largest = 30};
  EXPECT_EQ(Judge(Card(), &state).why, OomCause::kFull);
  state.usable_free = 120;
  EXPECT_EQ(Judge(Card(), &state).why, OomCause::kFull);
  state.usable_free = 220;
  EXPECT_EQ(Judge(Card(), &state).why, OomCause::kFragmentation);
  state.usable_largest = 200;
  EXPECT_EQ(Judge(Card(), &state).why, OomCause::kUnexplained);
}

TEST(OomState, FreeMemoryIsCountedForTheRequest) {
  StateAtMoment at;
  const auto add = [&at](std::int64_t size, std::int64_t used, bool small, std::uint16_t stream,
                         std::uint64_t pool) {
    const auto first = static_cast<std::uint32_t>(at.state.blocks.size());
    if (used > 0) {
      at.state.blocks.push_back(
          {.size = used, .requested = used - 8, .state = BlockState::kActive});
    }
    at.state.blocks.push_back({.size = size - used, .state = BlockState::kInactive});
    at.state.segments.push_back({.size = size,
                                 .allocated = used,
                                 .active = used,
                                 .stream = stream,
                                 .first_block = first,
                                 .block_count = used > 0 ? 2U : 1U,
                                 .small = small,
                                 .pool_id = pool});
    at.estimated.push_back(0);
  };
  add(20 * kOomMiB, 5 * kOomMiB, false, 0, 0);
  add(30 * kOomMiB, 10 * kOomMiB, false, 0, 0);
  add(2 * kOomMiB, kOomMiB, true, 0, 0);
  add(40 * kOomMiB, 0, false, 7, 0);
  add(50 * kOomMiB, 10 * kOomMiB, false, 0, 3);
  OomState state;
  std::vector<SegmentUse> uses;
  for (const Segment& segment : at.state.segments) {
    const auto blocks =
        std::span(at.state.blocks).subspan(segment.first_block, segment.block_count);
    uses.push_back({.gives = FreeIn(segment, blocks, 16 * kOomMiB), .request = 16 * kOomMiB});
  }
  AddState(at, uses, {.requested_bytes = 64 * kOomMiB}, state);
  EXPECT_EQ(state.reserved, 142 * kOomMiB);
  EXPECT_EQ(state.live, 26 * kOomMiB);
  EXPECT_EQ(state.requested, 26 * kOomMiB - 32);
  EXPECT_EQ(state.free, 116 * kOomMiB);
  EXPECT_EQ(state.largest_free, 40 * kOomMiB);
  EXPECT_EQ(state.usable_free, 35 * kOomMiB);
  EXPECT_EQ(state.usable_pieces, 2);
  EXPECT_EQ(state.usable_largest, 20 * kOomMiB);
  EXPECT_EQ(state.other_class_free, kOomMiB);
  EXPECT_EQ(state.other_stream_free, 40 * kOomMiB);
  EXPECT_EQ(state.private_free, 40 * kOomMiB);
  EXPECT_EQ(state.gives.unused_segments, 1);
  EXPECT_EQ(state.gives.returnable, 40 * kOomMiB);
  EXPECT_EQ(state.gives.reuse_only, 36 * kOomMiB);
  EXPECT_EQ(state.gives.fragmented, 16 * kOomMiB) << "15 and 1, but not the gap of 20";
  EXPECT_EQ(state.gives.private_pool, 40 * kOomMiB);
  EXPECT_EQ(
      state.usable_free + state.other_class_free + state.other_stream_free + state.private_free,
      state.free);
}

TEST(OomState, SegmentsAreTakenWhole) {
  EXPECT_EQ(SegmentFor(512), 2 * kOomMiB);
  EXPECT_EQ(SegmentFor(kOomMiB), 2 * kOomMiB);
  EXPECT_EQ(SegmentFor(kOomMiB + 512), 20 * kOomMiB);
  EXPECT_EQ(SegmentFor(10 * kOomMiB), 10 * kOomMiB);
  EXPECT_EQ(SegmentFor(11 * kOomMiB), 12 * kOomMiB);
  EXPECT_EQ(SegmentFor(INT64_MAX), INT64_MAX);
}

}  // namespace
}  // namespace memtool
