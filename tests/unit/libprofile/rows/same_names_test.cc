#include <gtest/gtest.h>

#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/table.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using Rows = std::vector<std::string>;

// Lines of the nodes of each frame "f", by the order of the samples.
std::vector<NodeId> MakeNodes(NodeSpace& space, const Recording& recording) {
  return space.OfLines(recording, Granularity::kFileFunction);
}

// Lines 3 and 5 are of one function: the same line calls both.
TEST(SameNames, OneThatCallsTheOtherIsAnother) {
  const Recording recording = ProfileMaker()
                                  .Sample("main@t.py:1;forward@m.py:9;forward@m.py:3", {1, 4})
                                  .Sample("main@t.py:1;forward@m.py:9;forward@m.py:5", {1, 2})
                                  .Sample("main@t.py:1;forward@m.py:9", {1, 1})
                                  .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"), (Rows{"forward 6 6", "forward 1 7", "main 0 7"}));
}

// Lines 3 and 5 are not: other lines call them.
TEST(SameNames, WhatOtherLinesCallIsAnother) {
  const Recording recording =
      ProfileMaker()
          .Sample("forward@m.py:9;forward@m.py:3", {1, 4})
          .Sample("forward@m.py:10;_call_impl@n.py:1;forward@m.py:5", {1, 2})
          .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"),
            (Rows{"forward 4 4", "forward 2 2", "forward 0 4", "_call_impl 0 2", "forward 0 2"}));
}

TEST(SameNames, RecursionIsOneFunction) {
  const Recording recording = ProfileMaker()
                                  .Sample("main@t.py:1;walk@m.py:9;walk@m.py:9;walk@m.py:3", {1, 4})
                                  .Sample("main@t.py:2;walk@m.py:5", {1, 2})
                                  .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"), (Rows{"walk 6 6", "main 0 6"}));
}

TEST(SameNames, LinesOfOneFunctionAreOneRow) {
  const Recording recording = ProfileMaker()
                                  .Sample("main@t.py:1;step@m.py:3", {1, 4})
                                  .Sample("main@t.py:2;step@m.py:5", {1, 2})
                                  .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"), (Rows{"step 6 6", "main 0 6"}));
}

TEST(SameNames, LambdasAreWhereTheyAreWritten) {
  const Recording recording = ProfileMaker()
                                  .Sample("main@t.py:1;<lambda>@m.py:3", {1, 4})
                                  .Sample("main@t.py:1;<lambda>@m.py:5", {1, 2})
                                  .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"),
            (Rows{"<lambda> 4 4", "<lambda> 2 2", "main 0 6"}));
}

// What an input does not tell, another may: lines that both have are one row.
TEST(SameNames, InputsJoinWhateverEachTells) {
  const Recording silent = ProfileMaker().Sample("forward@m.py:3", {1, 4}).Finish();
  const Recording is_known =
      ProfileMaker().Sample("forward@m.py:9;forward@m.py:3", {1, 4}).Finish();
  for (const bool silent_first : {true, false}) {
    NodeSpace space;
    const auto first = MakeNodes(space, silent_first ? silent : is_known);
    const auto second = MakeNodes(space, silent_first ? is_known : silent);
    const auto& pair = silent_first ? second : first;
    const NodeId alone = (silent_first ? first : second).front();
    EXPECT_TRUE(pair[0] == alone || pair[1] == alone);
    EXPECT_NE(pair[0], pair[1]);
  }
}

TEST(SameNames, GeneratedFilesAreOne) {
  const std::string hash(51, 'x');
  const Recording recording = ProfileMaker()
                                  .Sample("call@/tmp/torchinductor_u/ab/" + hash + ".py:3", {1, 4})
                                  .Sample("call@/tmp/torchinductor_u/cd/y" + hash + ".py:3", {1, 2})
                                  .Finish();
  EXPECT_EQ(test::Top(recording, "filefunction"), (Rows{"call 6 6"}));
  EXPECT_EQ(test::Top(recording, "file"), (Rows{"<torchinductor> 6 6"}));
}

}  // namespace
}  // namespace memtool
