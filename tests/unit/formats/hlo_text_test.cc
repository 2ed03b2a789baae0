#include "hlo/hlo_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hlo/hlo_program.h"

namespace memtool::formats {
namespace {

TEST(HloText, RoundedSizesDoNotReachIntoTheirNeighbours) {
  const std::string text =
      "Total bytes used: 4194304 (4.00MiB)\n"
      "cumulative_size; total_size - cumulative_size; allocation\n"
      "   4.00MiB(100%);          0B; allocation 0: size 4.00MiB, preallocated-temp:\n"
      "\t  2.01MiB( 50%);    2.01MiB;            0;                1; f32[525750]\n"
      "\t  4.00MiB(100%);    1.99MiB;      2103000;                1; f32[522826]\n";
  ASSERT_EQ(hlo::DetectTextDump(text), hlo::TextDump::kUsageReport);
  const hlo::TextProgram read = hlo::ReadHloText(text, hlo::TextDump::kUsageReport);
  EXPECT_EQ(read.total, 4194304);
  EXPECT_EQ(read.precision, 6267);  // half of 0.01 MiB, and 1 KiB that was dropped before
  EXPECT_EQ(read.damaged, 0U);
  ASSERT_EQ(read.program.buffers.size(), 2U);
  EXPECT_EQ(read.program.buffers[0].size, 2103000);  // 2.01 MiB would be 2107638
  EXPECT_EQ(read.program.buffers[1].size, 2091304);  // 1.99 MiB would be 2086666
  EXPECT_EQ(hlo::BuffersAtPeak(read.program, 0).size(), 2U);
}

// XLA divides by 1024 in whole numbers before it rounds: 147456272 B are "140.62MiB", although half
// of the last digit is less than the difference; of GiB whole MiB are dropped.
TEST(HloText, WhatIsDroppedBeforeRoundingIsNoDamage) {
  const hlo::TextProgram read = hlo::ReadHloText(
      "Total bytes used: 147456272 (140.62MiB)\n"
      "cumulative_size; total_size - cumulative_size; allocation\n"
      " 140.62MiB(100%);         0B; allocation 0: size 140.62MiB, preallocated-temp:\n"
      "\t140.62MiB(100%);  140.62MiB;            0;                1; s8[147456256]\n"
      "\t140.62MiB(100%);        16B;    147456256;                1; (s8[16])\n",
      hlo::TextDump::kUsageReport);
  EXPECT_EQ(read.program.damage.outside, 0U);
  EXPECT_EQ(read.program.Total(), 147456272);  // one size is rounded, and the total is not
  ASSERT_EQ(read.program.buffers.size(), 2U);
  EXPECT_EQ(read.program.buffers[0].size, 147456256);
  const hlo::TextProgram large = hlo::ReadHloText(
      "Total bytes used: 14479785983 (13.48GiB)\n"
      "cumulative_size; total_size - cumulative_size; allocation\n"
      "   13.48GiB(100%);         0B; allocation 0: size 13.48GiB, preallocated-temp:\n",
      hlo::TextDump::kUsageReport);
  EXPECT_EQ(large.precision, 6417286);  // half of 0.01 GiB, and 1 MiB
  EXPECT_EQ(large.program.Total(), 14479785983);
  const hlo::TextProgram wrong = hlo::ReadHloText(
      "Total bytes used: 14481000000 (13.48GiB)\n"
      "cumulative_size; total_size - cumulative_size; allocation\n"
      "   13.48GiB(100%);         0B; allocation 0: size 13.48GiB, preallocated-temp:\n",
      hlo::TextDump::kUsageReport);
  EXPECT_NE(wrong.program.Total(), 14481000000);
}

// Since 2026 a report has a part for each memory, and of an allocation its buffers alone.
TEST(HloText, ReportsByMemorySpace) {
  const std::string text =
      "Memory Space: HBM (color=0)\nTotal bytes: 6291496 (6.00MiB)\n"
      "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
      "  ------------------------------------------------------------\n"
      "    3.00MiB( 60%);    3.00MiB;            0;                2; 2×f32[786432]\n"
      "    5.00MiB(100%);    2.00MiB;      3145728;                1; f32[524288]\n\n"
      "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
      "  ------------------------------------------------------------\n"
      "    1.00MiB(100%);    1.00MiB;            0;                1; f32[262154]\n\n"
      "Memory Space: host (color=5)\nTotal bytes: 64 (64B)\n"
      "  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n"
      "        64B(100%);        64B;            0;                1; f32[16]\n";
  ASSERT_EQ(hlo::DetectTextDump(text), hlo::TextDump::kUsageReport);
  const hlo::TextProgram read = hlo::ReadHloText(text, hlo::TextDump::kUsageReport);
  EXPECT_EQ(read.damaged, 0U);
  EXPECT_EQ(read.total, 6291560);
  ASSERT_EQ(read.program.allocations.size(), 3U);
  EXPECT_EQ(read.program.allocations[0].category, hlo::Category::kTemporary);
  EXPECT_EQ(read.program.allocations[0].size, 5242880);
  EXPECT_EQ(read.program.allocations[1].category, hlo::Category::kUnknown);
  EXPECT_EQ(read.program.allocations[2].color, 5);
}

std::string LiveText(const std::string& ranges) {
  return "BufferAssignment:\n"
         "allocation 0: size 1024, preallocated-temp:\n"
         " value: <1 dot.1 @0> (size=512,offset=0): f32[128]{0}\n"
         " value: <2 exp.2 @0> (size=512,offset=0): f32[128]{0}\n"
         " value: <3 fusion.3{0} @0> (size=256,offset=512): f32[64]{0}\n"
         " value: <4 fusion.3{1} @0> (size=256,offset=768): f32[64]{0}\n"
         " value: <5 while.5{0} (phi) @0> (size=256,offset=768): f32[64]{0}\n"
         " value: <6 neg.6 @0> (size=128,offset=0): f32[32]{0}\n"
         " reused by buffers of a different color:\n"
         "  value: <6 neg.6 @0> (color=1)\n"
         "allocation 1: size 256, page 1, preallocated-temp:\n"
         " value: <8 sort.8 @0> (size=256,offset=0): f32[64]{0}\n"
         "HloLiveRange (max 6):\n"
         "  InstructionSequence:\n"
         "    0:x\n"
         "  BufferLiveRange:\n"
         "    x{}:0-6\n" +
         ranges;
}
constexpr const char* kRanges =
    "    dot.1{}:1-2\n    exp.2{}:2-3\n    fusion.3{0}:3-4\n    fusion.3{1}:3-5\n"
    "    while.5{0}:4-5\n    neg.6{}:5-6\n    sort.8{}:5-6\n";

TEST(HloText, LiveRangesSayWhatIsThereAtThePeak) {
  const hlo::TextProgram read =
      hlo::ReadHloText(LiveText(kRanges) +
                           "  Live ranges at 3 (peak):\n    exp.2{}: 512 bytes (cumulative: 512 "
                           "bytes)\n  Stack trace breakdown for peak usage: 512 bytes\n",
                       hlo::TextDump::kBufferAssignment);
  EXPECT_EQ(read.damaged, 0U);
  ASSERT_EQ(read.program.traces.size(), 1U);
  const hlo::HeapTrace& trace = read.program.traces[0];
  EXPECT_EQ(trace.allocations, (std::vector<std::size_t>{0, 1}));
  const hlo::HeapPeak peak = hlo::FindPeak(read.program, trace);
  EXPECT_EQ(peak.bytes, 1024);  // not 1280: allocation 1 is in use later
  std::vector<std::string> live;
  for (const hlo::LiveBuffer& one : peak.live) {
    live.push_back(read.program.instructions[read.program.buffers[one.buffer].instruction].name);
  }
  // exp.2 took the place of dot.1, which ends with the instruction that makes it.
  EXPECT_EQ(live, (std::vector<std::string>{"exp.2", "fusion.3", "fusion.3"}));
  const hlo::HeapReplay replay = hlo::Replay(read.program, trace);
  EXPECT_EQ(replay.taken_twice + replay.free_without_alloc, 0U);
  // while.5 shares the place of fusion.3{1}, which lives on: no memory of its own.
  EXPECT_EQ(replay.steps.size(), 12U);
}

TEST(HloText, LiveRangesThatAreCutSayNothing) {
  std::string cut = kRanges;
  cut.resize(cut.find("sort.8"));
  const hlo::TextProgram read = hlo::ReadHloText(LiveText(cut), hlo::TextDump::kBufferAssignment);
  ASSERT_EQ(read.program.traces.size(), 1U);
  EXPECT_EQ(read.program.traces[0].allocations, std::vector<std::size_t>{0});
  cut.resize(cut.find("neg.6") + 8);
  const hlo::TextProgram less = hlo::ReadHloText(LiveText(cut), hlo::TextDump::kBufferAssignment);
  EXPECT_TRUE(less.program.traces.empty());
  EXPECT_EQ(less.damaged, 1U);  // "neg.6{}:"
  EXPECT_EQ(hlo::BuffersAtPeak(less.program, 0).size(), 3U);
}

TEST(HloText, WhatStandsBetweenBarsIsAShape) {
  const hlo::TextProgram read = hlo::ReadHloText(
      "BufferAssignment:\n"
      "allocation 7: size 8, color 5, parameter 3, shape |f32[2], maybe-live-out| at ShapeIndex "
      "{1}:\n"
      "allocation 8: 0x55d0c0ffee, size 12, maybe-live-out:\n"
      " value: <1 a> (size=12,offset=0): f32[<=3]{0}\n"
      " value: <2 b> (size=12 offset=0): f32[3]{0}\n"
      "allocation 9: size 5x, constant:\n"
      " value: <3 c> (size=5,offset=0): u8[5]{0}\n",
      hlo::TextDump::kBufferAssignment);
  ASSERT_EQ(read.program.allocations.size(), 2U);
  EXPECT_EQ(read.program.allocations[0].category, hlo::Category::kParameter);
  EXPECT_FALSE(read.program.allocations[0].live_out);
  EXPECT_EQ(read.program.allocations[0].color, 5);
  EXPECT_EQ(read.program.allocations[0].parameter, 3U);
  EXPECT_EQ(read.program.allocations[1].size, 12);
  EXPECT_EQ(read.program.allocations[1].category, hlo::Category::kOutput);
  ASSERT_EQ(read.program.buffers.size(), 2U);
  EXPECT_EQ(read.program.buffers[0].shape, "f32[<=3]");
  EXPECT_EQ(read.damaged, 2U);  // allocation 9, and its value
}

}  // namespace
}  // namespace memtool::formats
