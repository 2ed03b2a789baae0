// Articles go by sound, not by letter.
#include "words/refusals.h"

#include <gtest/gtest.h>

namespace memtool::commands {
namespace {

TEST(WithArticle, GoesBySound) {
  for (const char* noun : {"PyTorch CUDA snapshot", "JAX device memory profile", "capture log",
                           "dump", "TensorFlow trace", "Nimble profile", ""}) {
    EXPECT_EQ(WithArticle(noun), std::string("a ") + noun);
  }
  for (const char* noun : {"MXNet memory log", "XLA trace", "HLO program", "Nsight Systems export",
                           "export", "AOT program", "oracle"}) {
    EXPECT_EQ(WithArticle(noun), std::string("an ") + noun);
  }
}

}  // namespace
}  // namespace memtool::commands
