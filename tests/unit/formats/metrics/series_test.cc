#include "metrics/series.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "log/patterns.h"

namespace memtool::formats::metrics {
namespace {

constexpr log::LogForm kForm{.display = "metrics", .noun = "a table", .rows_by_stage = false};

// The table's own test: each example gives exactly what it says.
TEST(BuiltinTags, ExamplesGiveWhatTheySay) {
  const auto table = log::PatternTable::Parse(BuiltinTagTexts(), "tags.yaml");
  ASSERT_TRUE(table) << table.error().input << ": " << table.error().message;
  const auto checked = log::CheckPatterns(*table);
  EXPECT_TRUE(checked) << checked.error().message << "; " << checked.error().hint;
  EXPECT_GE(table->patterns().size(), 25U);
}

TEST(Series, ValuesBecomeStatementsInBytes) {
  Series series;
  series.Add({.place = 1, .time = 5, .step = 7}, "memory/max_reserved(GiB)", {1.5, 0.25});
  series.Add({.place = 2, .time = 6, .step = {}}, "gpu.3.memoryAllocatedBytes", {1024, 0});
  series.Add({.place = 3, .time = 7, .step = {}}, "loss", {0.5, 0});
  const auto recording = series.Finish(kForm, 9, "hint");
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->statements.size(), 2U);
  const Statement& first = recording->statements[0];
  EXPECT_EQ(first.what().name, "peak_reserved");
  EXPECT_EQ(first.value, 1610612736);
  EXPECT_EQ(first.below, 268435456);
  EXPECT_EQ(recording->strings[first.stage], "step 7");
  const Statement& second = recording->statements[1];
  EXPECT_EQ(second.what().name, "used");
  EXPECT_EQ(recording->strings[second.device], "device 3");
  EXPECT_FALSE(second.stage.valid());
  EXPECT_EQ(recording->metadata.format_display, "metrics of torchtitan, W&B");
}

TEST(Series, WhatNoMemoryHasIsCounted) {
  Series series;
  for (const double value : {-1.0, 1e30, std::numeric_limits<double>::quiet_NaN(), 8.0}) {
    series.Add({.place = 1, .step = {}}, "mem-allocated-bytes", {value, 0});
  }
  const auto recording = series.Finish(kForm, 9, "hint");
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->statements.size(), 1U);
  ASSERT_EQ(recording->diagnostics.size(), 1U);
  EXPECT_EQ(recording->diagnostics[0].code, "bad_values");
  EXPECT_EQ(recording->diagnostics[0].count, 3U);
}

TEST(Series, NothingAboutMemoryIsAnError) {
  Series series;
  series.Add({.place = 1, .step = {}}, "loss", {8, 0});
  series.Add({.place = 2, .step = {}}, "my/memory_gb", {8, 0});
  const auto recording = series.Finish(kForm, 9, "hint");
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().message,
            "a table without a tag about memory that is known (there is 'my/memory_gb')");
}

TEST(Series, NumbersOfTextsAndFloatsSayHowFarTheyWereRounded) {
  EXPECT_EQ(NumberInText("1024")->error, 0);
  EXPECT_NEAR(NumberInText("10.25")->error, 0.005, 1e-9);
  EXPECT_EQ(NumberInText("1.5e3")->value, 1500);
  EXPECT_FALSE(NumberInText("nan"));
  EXPECT_FALSE(NumberInText("12 GiB"));
  EXPECT_EQ(NumberOfFloat(16777216.0F).error, 1);
  EXPECT_EQ(TimeOf(1.5), 1'500'000'000);
  EXPECT_EQ(TimeOf(1e300), kNoTime);
  EXPECT_EQ(TimeOf(-1), kNoTime);
}

}  // namespace
}  // namespace memtool::formats::metrics
