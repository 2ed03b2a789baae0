#include "xla/op_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace memtool::formats::xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitOpName, DividesAtSlashes) {
  EXPECT_THAT(SplitOpName("jit(f)/jit(main)/transpose(jvp(Dense_0))/dot_general"),
              ElementsAre("jit(f)", "jit(main)", "transpose(jvp(Dense_0))", "dot_general"));
}

TEST(SplitOpName, DropsEmptyScopes) {
  EXPECT_THAT(SplitOpName("//a/ /b/"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitOpName(""), IsEmpty());
}

TEST(SplitOpName, KeepsWhatBracketsHoldTogether) {
  EXPECT_THAT(SplitOpName("vmap(a/b)/c"), ElementsAre("vmap(a/b)", "c"));
}

TEST(SplitOpName, LeavesOutParametersButNoIndex) {
  EXPECT_THAT(SplitOpName("jit(f)/dot_general[dims=(((3,), (2,)), ()) precision=a/b]"),
              ElementsAre("jit(f)", "dot_general"));
  EXPECT_THAT(SplitOpName("params['Dense_0']['kernel']"),
              ElementsAre("params['Dense_0']['kernel']"));
}

TEST(SplitOpName, DividesANameThatWasCut) {
  EXPECT_THAT(SplitOpName("jit(f)/jit(main/add"), ElementsAre("jit(f)", "jit(main", "add"));
}

TEST(SplitOpName, IsBounded) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) {
    deep += "s" + std::to_string(i) + "/";
  }
  const auto scopes = SplitOpName(deep);
  ASSERT_EQ(scopes.size(), kMaxScopes);
  EXPECT_EQ(scopes.back(), "s999");
}

}  // namespace
}  // namespace memtool::formats::xla
