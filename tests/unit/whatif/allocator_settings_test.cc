#include "memtool/profile/whatif/allocator_settings.h"

#include <gtest/gtest.h>

#include "support/make_history.h"

namespace memtool::whatif {
namespace {

AllocatorSettings Parse(const std::string& text) {
  auto settings = ParseAllocatorConf(text);
  EXPECT_TRUE(settings) << (settings ? "" : ToString(settings.error()));
  return settings ? *settings : AllocatorSettings{};
}
std::string ToError(const std::string& text) {
  const auto settings = ParseAllocatorConf(text);
  return settings ? "none" : settings.error().message;
}

TEST(AllocatorSettings, OfTheVariable) {
  const AllocatorSettings s = Parse(
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, max_split_size_mb:128,"
      "garbage_collection_threshold:0.8,per_process_memory_fraction:1.0,max_non_split_rounding_mb:"
      "64");
  EXPECT_TRUE(s.expandable_segments);
  EXPECT_EQ(s.max_split_size, 128 * kMiB);
  EXPECT_EQ(s.max_non_split_rounding, 64 * kMiB);
  EXPECT_DOUBLE_EQ(s.garbage_collection_threshold, 0.8);
  EXPECT_DOUBLE_EQ(s.memory_fraction, 1.0);
  EXPECT_TRUE(s.not_modelled.empty());
  EXPECT_EQ(ConfText(s),
            "expandable_segments:True,max_split_size_mb:128,max_non_split_rounding_mb:64,"
            "garbage_collection_threshold:0.8,per_process_memory_fraction:1");
}

TEST(AllocatorSettings, NothingIsTheDefault) {
  EXPECT_EQ(ConfText(Parse("")), "");
  EXPECT_EQ(ConfText(Parse("backend:native,")), "");
  EXPECT_FALSE(Parse("backend:native").other_allocator);
  EXPECT_TRUE(Parse("backend:cudaMallocAsync").other_allocator);
}

// [256:1,512:2,>:8]: the first serves all below it, ">" all above the last; in between is off.
TEST(AllocatorSettings, DivisionsAsNumberAndAsList) {
  const auto one = Parse("roundup_power2_divisions:4").roundup_power2_divisions;
  EXPECT_EQ(one.front(), 4);
  EXPECT_EQ(one.back(), 4);
  const auto list = Parse("roundup_power2_divisions:[256:1,1024:2,>:8]").roundup_power2_divisions;
  const std::array<std::int64_t, 16> expected{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 8, 8, 8, 8, 8};
  EXPECT_EQ(list, expected);
  EXPECT_EQ(ConfText(Parse("roundup_power2_divisions:[256:1,1024:2,>:8],expandable_segments:True")),
            "expandable_segments:True,roundup_power2_divisions:[1:1,2:1,4:1,8:1,16:1,32:1,64:1,"
            "128:1,256:1,512:0,1024:2,2048:8,4096:8,8192:8,16384:8,32768:8]");
}

TEST(AllocatorSettings, ASegmentSizeMovesTheRounding) {
  const AllocatorSettings s = Parse("large_segment_size_mb:32");
  EXPECT_EQ(s.large_segment, 32 * kMiB);
  EXPECT_EQ(s.max_non_split_rounding, 32 * kMiB);
  EXPECT_EQ(Parse("large_segment_size_mb:32,max_non_split_rounding_mb:20").max_non_split_rounding,
            20 * kMiB);
}

TEST(AllocatorSettings, WhatIsNotModelledIsKeptByName) {
  const AllocatorSettings s = Parse("pinned_num_register_threads:4,throw_on_cudamalloc_oom:True");
  ASSERT_EQ(s.not_modelled.size(), 2U);
  EXPECT_EQ(s.not_modelled[0].name, "pinned_num_register_threads");
  EXPECT_EQ(s.not_modelled[1].value, "True");
}

TEST(AllocatorSettings, MistakesAreNamed) {
  EXPECT_EQ(ToError("expandable_segment:True"),
            "no allocator setting is called 'expandable_segment'");
  EXPECT_EQ(ToError("expandable_segments:1"),
            "allocator setting expandable_segments: '1' is neither True nor False");
  EXPECT_EQ(ToError("expandable_segments"), "'expandable_segments' is no allocator setting");
  EXPECT_EQ(ToError("max_split_size_mb:19"),
            "allocator setting max_split_size_mb: 19 is too small, the least is 20");
  EXPECT_EQ(ToError("max_split_size_mb:20"), "none");
  EXPECT_EQ(ToError("max_split_size_mb:x"),
            "allocator setting max_split_size_mb: 'x' is no number of MiB");
  EXPECT_EQ(ToError("garbage_collection_threshold:1"),
            "allocator setting garbage_collection_threshold: '1' is no share between 0 and 1");
  EXPECT_EQ(ToError("roundup_power2_divisions:3"),
            "allocator setting roundup_power2_divisions: '3' is no power of 2");
  EXPECT_EQ(ToError("roundup_power2_divisions:[3:1]"),
            "allocator setting roundup_power2_divisions: interval '3' is no power of 2");
  EXPECT_EQ(ToError("roundup_power2_divisions:[4:1"),
            "allocator setting roundup_power2_divisions: a bracket is not closed");
}

// The file's own dict decides; -1 is "none".
TEST(AllocatorSettings, OfARecording) {
  RecordingBuilder builder;
  builder.AddSetting("PYTORCH_CUDA_ALLOC_CONF",
                     "max_split_size_mb:128,max_non_split_rounding_mb:40,strange:1");
  builder.AddSetting("max_split_size", "-1");
  builder.AddSetting("expandable_segments", "true");
  builder.AddSetting("garbage_collection_threshold", "0.5");
  builder.AddSetting("roundup_power2_divisions.1", "0");
  builder.AddSetting("roundup_power2_divisions.32768", "16");
  const Recording recording =
      test::MakeRecording(test::BuildHistory({}), AllocatorState{}, std::move(builder));
  const AllocatorSettings s = RecordedSettings(recording);
  EXPECT_TRUE(s.splits_everything());
  EXPECT_TRUE(s.expandable_segments);
  EXPECT_DOUBLE_EQ(s.garbage_collection_threshold, 0.5);
  EXPECT_EQ(s.max_non_split_rounding, 40 * kMiB);
  EXPECT_EQ(s.roundup_power2_divisions.front(), 0);
  EXPECT_EQ(s.roundup_power2_divisions.back(), 16);
  ASSERT_EQ(s.not_modelled.size(), 1U);
  EXPECT_EQ(s.not_modelled[0].name, "strange");
}

}  // namespace
}  // namespace memtool::whatif
