// Does the comparison bite? Each rule of the allocator is replaced by a wrong one, and some
// recording has to show it. A rule that none shows is not tested by recordings at all.
#include <gtest/gtest.h>

#include "recordings.h"

namespace memtool::tests {
namespace {

// How many recordings differ under the rules.
int Differing(const whatif::Rules& rules, const std::vector<std::string>& files) {
  int differing = 0;
  for (const std::string& file : files) {
    differing += ComputeFidelity(*OpenFile(file), rules).exact() ? 0 : 1;
  }
  return differing;
}

std::vector<std::string> GeneratedFiles() {
  std::vector<std::string> files;
  for (const Generated& one : AllGenerated()) {
    files.push_back(std::string(MEMTOOL_WHATIF_RECORDINGS) + "/" + one.name + ".json");
  }
  return files;
}

struct Wrong {
  const char* name;
  whatif::Rules rules;
};
std::vector<Wrong> WrongRules() {
  return {
      {"of equal blocks the highest address", {.highest_on_tie = true}},
      {"first fit by address", {.first_fit = true}},
      {"large pool splits from 512 bytes", {.large_splits_from_block = true}},
      {"large pool splits at a rest of 1 MiB", {.large_splits_at_small = true}},
      {"no 20 MiB segments", {.no_medium_segments = true}},
      {"exactly 10 MiB gets a 20 MiB segment", {.own_segment_above = true}},
      {"rounding to 256", {.round_to = 256}},
      {"expandable: best fit by what is mapped", {.expandable_best_fit = true}},
  };
}

TEST(WhatIfMutation, EveryWrongRuleIsSeen) {
  const auto files = GeneratedFiles();
  ASSERT_EQ(Differing({}, files), 0);
  for (const Wrong& wrong : WrongRules()) {
    const int differing = Differing(wrong.rules, files);
    EXPECT_GT(differing, 0) << wrong.name;
    RecordProperty(wrong.name, differing);
  }
}

// What a block from before the recording keeps of its gap shows only where the head is missing.
TEST(WhatIfMutation, BlocksOfTheBaseKeepSmallRests) {
  const auto index = OpenGenerated("default");
  int differing = 0;
  for (const int percent : {10, 30, 50, 70, 90}) {
    const auto cut = WithoutHead(*index, percent);
    EXPECT_TRUE(ComputeFidelity(*cut).exact()) << percent;
    differing += ComputeFidelity(*cut, {.base_without_rests = true}).exact() ? 0 : 1;
  }
  EXPECT_GT(differing, 0);
}

TEST(WhatIfMutation, RealRecordingsSeeThemToo) {
  const auto files = RealFiles();
  if (files.empty()) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  EXPECT_GT(Differing({.highest_on_tie = true}, files), 0);
  EXPECT_GT(Differing({.first_fit = true}, files), 0);
}

}  // namespace
}  // namespace memtool::tests
