#include "rmm/rmm_row.h"

#include <gtest/gtest.h>

namespace memtool::formats::rmm {
namespace {

TEST(RmmRow, ReadsRowsOfAllReleases) {
  const auto row = ParseRow("1979932,14:21:19.998533,allocate,0x30a000000,256,0x2");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->thread, 1979932U);
  EXPECT_EQ(row->time, ((14 * 60 + 21) * 60 + 19) * 1'000'000'000LL + 998'533'000);
  EXPECT_EQ(row->action, RmmAction::kAllocate);
  EXPECT_EQ(row->pointer, 0x30a000000U);
  EXPECT_EQ(row->size, 256);
  EXPECT_EQ(row->stream, 2U);
  const auto older = ParseRow("3,01:00:00:000007,free,(nil),0,0");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->time, 3'600'000'007'000);
  EXPECT_EQ(older->pointer, 0U);
  EXPECT_EQ(ParseRow("3,01:00:00.5,allocate failure,(nil),9,0")->action, RmmAction::kFailure);
}

TEST(RmmRow, RefusesWhatIsNoWholeRow) {
  for (const auto* const line :
       {"", ",", "1,2,3", "Thread,Time,Action,Pointer,Size,Stream", "1,24:00:00.0,allocate,0x1,1,0",
        "1,01:60:00.0,allocate,0x1,1,0", "1,01:00:00.,allocate,0x1,1,0",
        "1,01:00:00.0000000001,allocate,0x1,1,0", "1,1:00:00.0,allocate,0x1,1,0",
        "-1,01:00:00.0,allocate,0x1,1,0", "1,01:00:00.0,deallocate,0x1,1,0",
        "1,01:00:00.0,allocate,0x,1,0", "1,01:00:00.0,allocate,0x1,-1,0",
        "1,01:00:00.0,allocate,0x1,9223372036854775808,0", "1,01:00:00.0,allocate,0x1,1",
        "1,01:00:00.0,allocate,0x1,1,", "1,01:00:00.0,allocate,0x1,1,0,",
        "1,01:00:00.0,allocate,0x1,1,0,2"}) {
    EXPECT_FALSE(ParseRow(line)) << line;
  }
}

TEST(RmmRow, KnowsWhatBeginsAsOne) {
  EXPECT_TRUE(BeginsAsRow("1,01:00:00.0,allocate,0x"));
  EXPECT_FALSE(BeginsAsRow("1,01:00:00.0,allo"));
  EXPECT_FALSE(BeginsAsRow("26/02/03 14:21:18 INFO Executor: Finished task 0.0, 1, 2"));
}

}  // namespace
}  // namespace memtool::formats::rmm
