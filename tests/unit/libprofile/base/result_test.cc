#include "memtool/profile/base/result.h"

#include <gtest/gtest.h>

namespace memtool {
namespace {

TEST(Error, HasAPlace) {
  EXPECT_EQ(ToString({.code = ErrorCode::kMalformed,
                      .input = "a.pb",
                      .offset = 7,
                      .field = "sample[1]",
                      .message = "ends here"}),
            "a.pb: byte 7: sample[1]: ends here");
}

TEST(Error, HasAHint) {
  EXPECT_EQ(ToString(Fail(ErrorCode::kUsage, "--at peak: not there", "leave it out").value()),
            "--at peak: not there (leave it out)");
}

}  // namespace
}  // namespace memtool
