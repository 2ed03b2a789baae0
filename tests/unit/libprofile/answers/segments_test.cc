// What pins and fragments a small state, worked out by hand.
#include "memtool/profile/answers/segments.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "memtool/profile/model/label_text.h"
#include "support/make_history.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

constexpr std::int64_t kSegmentMiB = std::int64_t{1} << 20U;

// Three large segments of device 0: 40 MiB in which f0 holds 4 and f1 4, of these 2 waiting for a
// stream; 20 MiB wholly of f2's; 20 MiB without live blocks.
Recording ThreeSegments() {
  RecordingBuilder builder;
  const std::vector<StackId> stacks = test::AddStacks(builder, 3, "dir/model.py");
  std::vector<Block> blocks;
  std::uint64_t address = 0x1000;
  const auto block = [&](std::int64_t mib, StackId stack, BlockState state) {
    blocks.push_back({.address = address,
                      .size = mib * kSegmentMiB,
                      .requested = mib * kSegmentMiB,
                      .stack = stack,
                      .state = state});
    address += static_cast<std::uint64_t>(mib * kSegmentMiB);
  };
  block(4, stacks[0], BlockState::kActive);
  block(20, {}, BlockState::kInactive);
  block(2, stacks[1], BlockState::kActive);
  block(2, stacks[1], BlockState::kPendingFree);
  block(12, {}, BlockState::kInactive);
  block(20, stacks[2], BlockState::kActive);
  block(20, {}, BlockState::kInactive);
  AllocatorState state{.segments = {{.size = 40 * kSegmentMiB,
                                     .allocated = 6 * kSegmentMiB,
                                     .active = 8 * kSegmentMiB,
                                     .requested = 8 * kSegmentMiB,
                                     .block_count = 5},
                                    {.size = 20 * kSegmentMiB,
                                     .allocated = 20 * kSegmentMiB,
                                     .active = 20 * kSegmentMiB,
                                     .requested = 20 * kSegmentMiB,
                                     .first_block = 5,
                                     .block_count = 1},
                                    {.size = 20 * kSegmentMiB, .first_block = 6, .block_count = 1}},
                       .blocks = std::move(blocks)};
  std::uint64_t at = 0x1000;
  for (Segment& segment : state.segments) {
    segment.device = 0;
    segment.address = at;
    at += static_cast<std::uint64_t>(segment.size);
  }
  return test::MakeRecording(test::BuildHistory({}), std::move(state), std::move(builder));
}

SegmentsAnswer Answer(std::size_t slices = 0) {
  auto selection = Select(ThreeSegments(), {.name = "snapshot.pickle"});
  auto answer = Segments(*selection, {.slices = slices});
  return *std::move(answer);
}

TEST(SegmentsAnswer, RowsByWhatIsFree) {
  const SegmentsAnswer answer = Answer();
  ASSERT_EQ(answer.rows.size(), 3U);
  EXPECT_EQ(answer.rows[0].free(), 32 * kSegmentMiB);
  EXPECT_EQ(answer.rows[0].largest_free, 20 * kSegmentMiB);
  EXPECT_EQ(answer.rows[0].live_blocks, 3);
  EXPECT_TRUE(answer.rows[0].pinned());  // 8 of 40 MiB live
  EXPECT_EQ(answer.rows[1].free(), 20 * kSegmentMiB);
  EXPECT_FALSE(answer.rows[1].pinned());  // goes back whole
  EXPECT_EQ(answer.rows[2].free(), 0);
  EXPECT_FALSE(answer.rows[2].pinned());
}

// f0 and f1 hold 4 MiB each: the tie goes by name.
TEST(SegmentsAnswer, HoldersAreNamedAsRowsOfTop) {
  const SegmentsAnswer answer = Answer();
  EXPECT_EQ(answer.rows[0].holder.name, "f0");
  EXPECT_EQ(answer.rows[0].holder.file, "dir/model.py");
  EXPECT_EQ(answer.rows[1].holder, SegmentHolder());
  EXPECT_EQ(answer.rows[2].holder.name, "f2");
  ASSERT_EQ(answer.pinned_by.size(), 1U);
  EXPECT_EQ(answer.pinned_by[0].holder.name, "f0");
  EXPECT_EQ(answer.pinned_by[0].bytes, 32 * kSegmentMiB);
}

TEST(SegmentsAnswer, Sums) {
  const SegmentTotals totals = Answer().totals;
  EXPECT_EQ(totals.reserved, 80 * kSegmentMiB);
  EXPECT_EQ(totals.allocated, 26 * kSegmentMiB);
  EXPECT_EQ(totals.pending, 2 * kSegmentMiB);
  EXPECT_EQ(totals.free, 52 * kSegmentMiB);
  EXPECT_EQ(totals.gives.returnable, 20 * kSegmentMiB);
  EXPECT_EQ(totals.gives.reuse_only, 32 * kSegmentMiB);
  EXPECT_EQ(totals.splits, 2);
  EXPECT_EQ(totals.split_bytes, 32 * kSegmentMiB);
  EXPECT_EQ(totals.unused, 1);
  EXPECT_EQ(totals.unused_bytes, 20 * kSegmentMiB);
  EXPECT_EQ(totals.pinned, 1);
  EXPECT_EQ(totals.pinned_bytes, 32 * kSegmentMiB);
  EXPECT_EQ(totals.pins, 8 * kSegmentMiB);
  EXPECT_TRUE(totals.pieces_known());
  // The largest block alive is of 20 MiB: the gap of 20 holds it, that of 12 does not.
  EXPECT_EQ(totals.gives.fragmented, 12 * kSegmentMiB);
  EXPECT_EQ(totals.request, 20 * kSegmentMiB);
  EXPECT_DOUBLE_EQ(totals.fragmentation(), 12.0 / 80);
}

// Slices of 8 MiB: half used, free, free, half used of which half waits, free.
TEST(SegmentsAnswer, FillOfEqualParts) {
  const std::vector<SliceFill> fill = Answer(5).rows[0].fill;
  ASSERT_EQ(fill.size(), 5U);
  EXPECT_DOUBLE_EQ(fill[0].used, 0.5);
  EXPECT_DOUBLE_EQ(fill[0].pending, 0);
  EXPECT_DOUBLE_EQ(fill[1].used, 0);
  EXPECT_DOUBLE_EQ(fill[3].used, 0.5);
  EXPECT_DOUBLE_EQ(fill[3].pending, 0.25);
  EXPECT_DOUBLE_EQ(fill[4].used, 0);
  EXPECT_TRUE(Answer().rows[0].fill.empty());
}

TEST(SegmentsAnswer, BlocksFillTheirSegments) {
  auto selection = Select(ThreeSegments(), {.name = "snapshot.pickle"});
  const auto answer = Segments(*selection, {.blocks = true});
  ASSERT_TRUE(answer);
  for (const SegmentRow& row : answer->rows) {
    std::int64_t at = 0;
    std::int64_t free = 0;
    for (const SegmentBlock& block : row.block_list) {
      EXPECT_EQ(block.offset, at);
      EXPECT_EQ(block.holder.has_value(), block.state != BlockState::kInactive);
      free += block.holder ? 0 : block.size;
      at += block.size;
    }
    EXPECT_EQ(at, row.segment.size);
    EXPECT_EQ(free, row.free());
  }
  const auto& blocks = answer->rows[0].block_list;
  ASSERT_EQ(blocks.size(), 5U);
  EXPECT_EQ(answer->holders[*blocks[0].holder].name, "f0");
  EXPECT_EQ(blocks[2].holder, blocks[3].holder);
  EXPECT_EQ(blocks[3].state, BlockState::kPendingFree);
  EXPECT_EQ(blocks[3].requested, 2 * kSegmentMiB);
  EXPECT_FALSE(blocks[0].event);  // from before the history
}

TEST(SegmentsAnswer, AsJson) {
  std::string text;
  WriteJson(MakeView(Answer()), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.segments/1");
  EXPECT_STREQ(json["sample_type"].GetString(), "reserved");
  EXPECT_EQ(json["free"].GetInt64(), 52 * kSegmentMiB);
  EXPECT_STREQ(json["rows"][0]["address"].GetString(), "0x1000");
  EXPECT_STREQ(json["rows"][0]["holder"].GetString(), "f0");
}

TEST(SegmentsAnswer, ProfilesTellNoSegments) {
  auto selection = Select(test::ProfileMaker().Sample("main", {1, 10}).Finish());
  EXPECT_EQ(Segments(*selection).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace memtool
