#include "whatif/advise_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace memtool::commands {
namespace {

bool Says(const AdviseAnswer& answer, std::string_view what) {
  const auto notes = MakeNotes(answer);
  return std::any_of(notes.begin(), notes.end(), [what](const std::string& note) {
    return note.find(what) != std::string::npos;
  });
}

AdviseAnswer AnswerOf(std::int64_t saves) {
  AdviseAnswer answer;
  answer.rows.push_back({.change = "autocast=bf16", .saves = saves, .function = {}, .file = {}});
  answer.devices.emplace_back();
  return answer;
}

TEST(AdviseWords, AChangeThatNeedsMoreIsSaidToDoSo) {
  EXPECT_TRUE(Says(AnswerOf(-1000), "autocast=bf16 needs more"));
  EXPECT_FALSE(Says(AnswerOf(1000), "needs more"));
}

TEST(AdviseWords, WhatWasNotTriedIsSaid) {
  AdviseAnswer answer = AnswerOf(1000);
  EXPECT_FALSE(Says(answer, "was not tried"));
  answer.devices.front().names_operators = false;
  EXPECT_TRUE(Says(answer, "autocast=bf16 was not tried"));
}

TEST(AdviseWords, CostsAreWhatCanBeChecked) {
  AdviseRow row{.change = "checkpoint:model.py:68",
                .kind = "checkpoint",
                .function = {},
                .file = {},
                .computed_again = 0.33};
  EXPECT_EQ(CostText(row), "33% of the forward again");
  row = {.change = "accumulate=4", .kind = "accumulate", .function = {}, .file = {}, .passes = 4};
  EXPECT_EQ(CostText(row), "4 passes per step");
  row = {.change = "chunk-loss=4", .kind = "chunk-loss", .function = {}, .file = {}};
  EXPECT_EQ(CostText(row), "head and loss computed twice");
}

}  // namespace
}  // namespace memtool::commands
