// Whose scripts are that have no ending: by what a recording shows of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using test::Top;
using testing::ElementsAre;

constexpr const char* kJax = "add@/v/site-packages/jax/_src/numpy/ufuncs.py:9";

std::vector<std::string> Own(const std::vector<std::string>& stacks) {
  ProfileMaker maker;
  for (const std::string& stack : stacks) {
    maker.Sample(stack, {1, 10});
  }
  return Top(maker.Finish(), "filefunction", {});
}

TEST(Scripts, OfOnesOwnAreOnesOwn) {
  for (const std::string file :
       {"/home/u/bin/train", "/usr/local/bin/train", "/opt/conda/bin/train", "/srv/jobs/train"}) {
    EXPECT_THAT(Own({"<module>@" + file + ":90;" + kJax}), ElementsAre("<module> 10 10")) << file;
    // Where something else is one's own, that is the row.
    EXPECT_THAT(Own({"<module>@" + file + ":90;fit@/home/u/m.py:2;" + kJax}),
                ElementsAre("fit 10 10", "<module> 0 10"))
        << file;
    // A short script that calls no entry, and one with functions.
    EXPECT_THAT(Own({"<module>@" + file + ":6;" + kJax}), ElementsAre("<module> 10 10")) << file;
    EXPECT_THAT(Own({"<module>@" + file + ":9;main@" + file + ":5;" + kJax}),
                ElementsAre("main 10 10", "<module> 0 10"))
        << file;
  }
}

TEST(Scripts, ThatStartAPackageAreNot) {
  for (const std::string start :
       {"<module>@/opt/conda/bin/torchrun:8;main@/v/site-packages/torch/distributed/run.py:901;",
        "<module>@/usr/local/bin/vllm:10;main@/v/site-packages/vllm/entrypoints/cli/main.py:53;",
        "<module>@/root/.local/bin/tool:8;__call__@/v/site-packages/click/core.py:1157;",
        "<module>@/v/bin/accelerate:33;main@/v/site-packages/accelerate/commands/cli.py:50;"}) {
    const auto rows = Own({start + "forward@/v/site-packages/torch/nn/x.py:3"});
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.front(), "forward 10 10") << start;
    EXPECT_THAT(Own({start + "step@/home/u/job.py:3;" + kJax}), ElementsAre("step 10 10")) << start;
  }
}

// What a packer unpacked is installed; what it packed is one's own.
TEST(Scripts, PackedProgramsHavePackages) {
  EXPECT_THAT(Own({"execute@/root/.pex/unzipped/.bootstrap/pex/pex.py:5;load@/srv/t.pyz/load.py:3;"
                   "f@/root/.pex/wheels/0/ab/einops-0.8-py3-none-any.whl/einops/einops.py:4"}),
              ElementsAre("load 10 10"));
  const std::string runfiles = "/c/bin/gnn/train.runfiles/";
  EXPECT_THAT(Own({"train@" + runfiles + "_main/gnn/train.py:3;f@" + runfiles +
                   "rules_python~~pip~pip_311_optax/site-packages/optax/u.py:4"}),
              ElementsAre("train 10 10"));
  EXPECT_THAT(
      Own({"train@" + runfiles + "_main/gnn/train.py:3;f@" + runfiles + "pip_optax/optax/u.py:4"}),
      ElementsAre("train 10 10"));
}

}  // namespace
}  // namespace memtool
