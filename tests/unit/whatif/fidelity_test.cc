// The model against recordings: generated ones, and real ones where they are. Each is compared
// whole and without its first 10 to 90 %.
#include "memtool/profile/whatif/fidelity.h"

#include <gtest/gtest.h>

#include "memtool/formats/open.h"
#include "recordings.h"
#include "support/files.h"

namespace memtool::tests {
namespace {

void ExpectExact(const HistoryIndex& index, const std::string& what) {
  const whatif::Fidelity fidelity = ComputeFidelity(index);
  EXPECT_TRUE(fidelity.exact()) << what << ": " << Text(fidelity);
  EXPECT_EQ(fidelity.reserved_difference, 0) << what;
  ::testing::Test::RecordProperty(what, Text(fidelity));
}

void ExpectExactWithoutHeads(const HistoryIndex& index, const std::string& what) {
  ExpectExact(index, what);
  for (const int percent : {10, 30, 50, 70, 90}) {
    ExpectExact(*WithoutHead(index, percent), what + " without " + std::to_string(percent));
  }
}

TEST(WhatIfFidelity, GeneratedRecordingsAreReproduced) {
  const auto all = AllGenerated();
  ASSERT_GE(all.size(), 14U);
  for (const Generated& one : all) {
    ExpectExactWithoutHeads(*OpenGenerated(one.name), one.name);
  }
}

TEST(WhatIfFidelity, RealRecordingsAreReproduced) {
  const auto files = RealFiles();
  if (files.empty()) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  for (const std::string& file : files) {
    ExpectExactWithoutHeads(*OpenFile(file), file.substr(file.rfind('/') + 1));
  }
}

// Its addresses are invented, they lie in no segment; the others have no history.
TEST(WhatIfFidelity, SomeFilesCannotBeReplayed) {
  const auto folder = test::ReferenceFolder("torch");
  if (!folder) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  const auto obstacle = [&folder](const char* name) {
    return ComputeFidelity(*OpenFile((*folder / name).string())).obstacle;
  };
  EXPECT_EQ(obstacle("mosaic_output.pickle"), whatif::Obstacle::kOutside);
  EXPECT_EQ(obstacle("yiyi_oom.pickle"), whatif::Obstacle::kNoEvents);
}

}  // namespace
}  // namespace memtool::tests
