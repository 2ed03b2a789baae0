// The tables that XLA prints into logs: what is read of them, and to which message it belongs.
#include <gtest/gtest.h>

#include <string>

#include "memtool/formats/oom_text.h"
#include "oom_text/tables/table_recording.h"

namespace memtool::formats {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20U;
constexpr std::int64_t kGiB = std::int64_t{1} << 30U;

const std::string kRequested =
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.\n";

TEST(OomTables, StatsAndBuffersBelongToTheMessageBefore) {
  const OomLog log = FindOoms(kRequested +
                              "BufferAssignment stats:\n"
                              "             parameter allocation:    2.00GiB\n"
                              "                 total allocation:    3.00GiB\n"
                              "Peak buffers:\n"
                              "\tBuffer 1:\n\t\tSize: 1.00MiB\n"
                              "\t\tOperator: op_name=\"jit(f)/jit(main)/mul\" "
                              "source_file=\"a b.py\" source_line=7\n"
                              "\t\tXLA Label: fusion\n\t\tShape: f32[8]\n"
                              "\t\t==========================\n"
                              "\tBuffer 2:\n\t\tSize: 2.00MiB\n"
                              "\t\tEntry Parameter Subshape: f32[16]\n");
  ASSERT_EQ(log.messages.size(), 1U);
  const OomMessage& message = log.messages.front();
  ASSERT_NE(message.program, nullptr);
  const OomProgram& program = *message.program;
  EXPECT_EQ(program.arguments->bytes, 2 * kGiB);
  EXPECT_EQ(program.total->bytes, 3 * kGiB);
  EXPECT_FALSE(program.temporaries);
  ASSERT_EQ(program.buffers.size(), 2U);
  EXPECT_EQ(program.buffers[0].name, "mul");
  EXPECT_EQ(program.buffers[0].file, "a b.py");
  EXPECT_EQ(program.buffers[0].line, 7);
  EXPECT_EQ(program.buffers[0].size.bytes, kMebi);
  EXPECT_TRUE(program.buffers[1].argument);
  EXPECT_EQ(program.buffers[1].name, "(argument)");
  EXPECT_EQ(program.damaged, 0U);
}

TEST(OomTables, AProcessHasItsOwn) {
  const OomLog log = FindOoms("[1,0]<stderr>:" + kRequested + "[1,1]<stderr>:" + kRequested +
                              "[1,0]<stderr>:Peak buffers:\n"
                              "[1,1]<stderr>:Peak buffers:\n"
                              "[1,0]<stderr>:\tBuffer 1:\n"
                              "[1,1]<stderr>:\tBuffer 1:\n"
                              "[1,0]<stderr>:\t\tSize: 1.00MiB\n"
                              "[1,1]<stderr>:\t\tSize: 2.00MiB\n");
  ASSERT_EQ(log.messages.size(), 2U);
  ASSERT_NE(log.messages[0].program, nullptr);
  ASSERT_NE(log.messages[1].program, nullptr);
  EXPECT_EQ(log.messages[0].program->buffers.at(0).size.bytes, kMebi);
  EXPECT_EQ(log.messages[1].program->buffers.at(0).size.bytes, 2 * kMebi);
}

TEST(OomTables, ATableWithoutItsMessageIsOne) {
  const OomLog log = FindOoms("Peak buffers:\n\tBuffer 1:\n\t\tSize: 1.00MiB\n");
  ASSERT_EQ(log.messages.size(), 1U);
  EXPECT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].line, 1U);
  EXPECT_NE(log.messages[0].program, nullptr);
}

TEST(OomTables, FiguresOfAnAllocatorAloneAreNoMessage) {
  EXPECT_TRUE(FindOoms("Stats:\nLimit: 100\nInUse: 50\n").messages.empty());
}

TEST(OomTables, PaddingOfATpu) {
  const OomLog log = FindOoms(
      "Ran out of memory in memory space hbm. Used 40.25G of 16.00G hbm. Exceeded by 24.25G.\n"
      "Program hbm requirement 40.25G:\n"
      "    HLO temp  40.22G (1.2% utilization: Unpadded (140.25M) Padded (10.96G), 0.1% "
      "fragmentation (8.00M))\n"
      "  Largest program allocations in hbm:\n"
      "  1. Size: 32.00G\n"
      "     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n"
      "     Unpadded size: 1.00G\n"
      "     Extra memory due to padding: 31.00G (32.0x expansion)\n"
      "     XLA label: %copy.4 = s32[8388608,8,4]{2,1,0:T(8,128)} copy(s32[8] %p.1)\n"
      "     Allocation type: HLO temp\n");
  ASSERT_EQ(log.messages.size(), 1U);
  ASSERT_NE(log.messages[0].program, nullptr);
  const OomProgram& program = *log.messages[0].program;
  EXPECT_EQ(program.space, "hbm");
  EXPECT_EQ(program.fragmentation->bytes, 8 * kMebi);
  ASSERT_EQ(program.buffers.size(), 1U);
  EXPECT_EQ(program.buffers[0].name, "copy");
  EXPECT_EQ(program.buffers[0].padding->bytes, 31 * kGiB);
  EXPECT_DOUBLE_EQ(program.buffers[0].expansion, 32.0);
  const auto tiles = ParseTiles(program.buffers[0].shape);
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->minor, 4);
  EXPECT_EQ(tiles->second, 8);
  EXPECT_EQ(tiles->tile_minor, 128);
}

TEST(OomTables, TilesNeedALayout) {
  EXPECT_FALSE(ParseTiles(""));
  EXPECT_FALSE(ParseTiles("f32[8,4]"));
  EXPECT_FALSE(ParseTiles("f32[8,4]{1,0}"));
  EXPECT_FALSE(ParseTiles("f32[8]{0:T(8,128)}"));
  EXPECT_FALSE(ParseTiles("f32[8,4]{1,9:T(8,128)}"));
  EXPECT_FALSE(ParseTiles("f32[8,4]{1,0:T(8,128"));
  EXPECT_TRUE(ParseTiles("f32[8,4]{1,0:T(8,128)}"));
}

TEST(OomTables, ChunksOfEveryYear) {
  const OomLog log = FindOoms(
      "Allocator (GPU_1_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)\n"
      "BFCAllocator dump for GPU_1_bfc\n"
      "Next region of size 4096\n"
      "Chunk at 0x1000 of size 256\n"
      "InUse at 0x1100 next 3 of size 256\n"
      "Free  at 1200 of size 512 next 4\n"
      "InUse at 1400 of size 1024 by op a/b action_count 7 step 2 next 5\n"
      "InUse at 1800 of size 2048 tag params allocation_annotation jit_f next "
      "18446744073709551615\n"
      "InUse at zzzz of size 8 next 9\n"
      "InUse at 1800 of size 16 next 9\n"
      "InUse at ffffffffffffffff of size 16 next 9\n");
  ASSERT_EQ(log.messages.size(), 1U);
  ASSERT_NE(log.messages[0].pool, nullptr);
  const OomPool& pool = *log.messages[0].pool;
  EXPECT_EQ(pool.allocator, "GPU_1_bfc");
  ASSERT_EQ(pool.chunks.size(), 5U);
  EXPECT_EQ(pool.in_use->bytes, 256 + 256 + 1024 + 2048);
  EXPECT_EQ(pool.largest_free->bytes, 512);
  EXPECT_EQ(pool.names[pool.chunks[3].name], "a/b");
  EXPECT_EQ(pool.names[pool.chunks[4].name], "params");
  EXPECT_EQ(pool.damaged, 3U);  // no address, an overlap, beyond the address space
}

TEST(OomTables, FiguresForPeopleAreSizes) {
  const OomLog log = FindOoms(
      "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)\n"
      "Stats:\nLimit:    15.00GiB\nInUse:    14.50GiB\nLargestFreeBlock:    256.00MiB\n");
  ASSERT_EQ(log.messages.size(), 1U);
  EXPECT_EQ(log.messages[0].limit->bytes, 15 * kGiB);
  EXPECT_EQ(log.messages[0].allocated->bytes, 29 * kGiB / 2);
  EXPECT_EQ(log.messages[0].largest->bytes, 256 * kMebi);
}

TEST(OomTables, RematerializationWarnsTheMessageAfterIt) {
  const OomLog log = FindOoms(
      "Can't reduce memory use below 2.50GiB by rematerialization; only reduced to 31.49GiB "
      "(33811139404 bytes)\n" +
      kRequested);
  ASSERT_EQ(log.messages.size(), 1U);
  ASSERT_TRUE(log.messages[0].remat);
  EXPECT_EQ(log.messages[0].remat->goal.bytes, 5 * kGiB / 2);
  EXPECT_EQ(log.messages[0].remat->reached.bytes, 33811139404);
  EXPECT_EQ(log.messages[0].remat->reached.precision, 0);
}

TEST(OomTables, RowsAreBounded) {
  std::string text = kRequested + "Peak buffers:\n";
  constexpr int kMany = 1500;
  for (int i = 1; i <= kMany; ++i) {
    text += "Buffer " + std::to_string(i) + ":\nSize: 1.00MiB\n";
  }
  const OomLog log = FindOoms(text);
  ASSERT_NE(log.messages[0].program, nullptr);
  EXPECT_EQ(log.messages[0].program->buffers.size(), 1000U);
  EXPECT_EQ(log.messages[0].program->left_out, 500U);
}

TEST(OomTables, RowsOfARecordingSumToWhatTheProgramNeeds) {
  const OomLog log = FindOoms(kRequested +
                              "BufferAssignment stats:\n"
                              "parameter allocation:    2.00GiB\n"
                              "preallocated temp allocation:    1.00GiB\n"
                              "total allocation:    3.00GiB\n"
                              "Peak buffers:\n"
                              "Buffer 1:\nSize: 256.00MiB\nXLA Label: fusion\nShape: f32[8]\n"
                              "Buffer 2:\nSize: 512.00MiB\nEntry Parameter Subshape: f32[16]\n");
  auto made = oom_text::ToRecording(log, oom_text::TableKind::kAny);
  ASSERT_TRUE(made);
  ASSERT_TRUE(*made) << (*made).error().message;
  const Recording& recording = **made;
  std::int64_t sum = 0;
  for (const std::int64_t bytes : recording.profile->values.back()) {
    sum += bytes;
  }
  EXPECT_EQ(sum, 3 * kGiB);
  EXPECT_FALSE(oom_text::ToRecording(log, oom_text::TableKind::kPool));
}

TEST(OomTables, ADumpIsAHistoryWithSegments) {
  const OomLog log = FindOoms(
      "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)\n"
      "BFCAllocator dump for GPU_0_bfc\n"
      "Next region of size 1024\nInUse at 1000 of size 256 by op a next 1\n"
      "Free  at 1100 of size 768 next 2\n"
      "Next region of size 512\nInUse at 1400 of size 512 next 3\n");
  auto made = oom_text::ToRecording(log, oom_text::TableKind::kPool);
  ASSERT_TRUE(made);
  ASSERT_TRUE(*made) << (*made).error().message;
  const Recording& recording = **made;
  ASSERT_EQ(recording.state->segments.size(), 2U);
  EXPECT_EQ(recording.state->segments[0].size, 1024);
  EXPECT_EQ(recording.state->segments[0].allocated, 256);
  EXPECT_EQ(recording.state->segments[1].size, 512);
  ASSERT_EQ(recording.history->traces.size(), 1U);
  EXPECT_EQ(recording.history->traces[0].device, 0);
  EXPECT_EQ(recording.history->events.back().action, Action::kOom);
  EXPECT_EQ(recording.history->events.back().size, kMebi);
}

}  // namespace
}  // namespace memtool::formats
