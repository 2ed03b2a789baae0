#include "memtool/profile/align/stack_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "support/make_profile.h"

namespace memtool {
namespace {

Recording Stacks(const std::vector<std::string>& stacks) {
  test::ProfileMaker maker;
  for (const std::string& stack : stacks) {
    maker.Sample(stack, {1, 1});
  }
  return maker.Finish();
}

TEST(StackKeys, LinesAndCheckoutsDoNotCount) {
  StackKeys keys;
  const auto a =
      keys.Of(Stacks({"step@/home/ann/run1/train.py:10;forward@/home/ann/run1/net.py:20"}));
  const auto b = keys.Of(Stacks({"step@/data/bob/train.py:11;forward@/data/bob/net.py:25",
                                 "step@/data/bob/train.py:11;backward@/data/bob/net.py:25"}));
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[0], b[1]);
}

TEST(StackKeys, NativeFramesOnlyWhereThereIsNoPython) {
  StackKeys keys;
  const auto of = keys.Of(Stacks({
      "step@train.py:1;at::_ops::mm::call(at::Tensor const&)@ops.cpp:3;malloc",
      "step@train.py:1",
      "clone;torch::autograd::Engine::thread_main@engine.cpp:9;torch::autograd::generated::"
      "MulBackward0::apply(std::vector<at::Tensor>&&)@functions.cpp:7;"
      "malloc",
      "torch::autograd::Engine::thread_main@engine.cpp:4;torch::autograd::generated::MulBackward0::"
      "apply(std::vector<at::Tensor>&&)@functions.cpp:8",
      "torch::autograd::Engine::thread_main@engine.cpp:4;torch::autograd::generated::DivBackward0::"
      "apply(std::vector<at::Tensor>&&)@functions.cpp:8",
      "start_thread;malloc",
  }));
  EXPECT_EQ(of[0], of[1]);
  EXPECT_EQ(of[2], of[3]);
  EXPECT_NE(of[3], of[4]);
  EXPECT_EQ(of[5], StackKeys::kNoFrames);
}

TEST(StackKeys, LevelsForVersionsApart) {
  const std::vector<std::string> stacks{
      "step@train.py:1;forward@net.py:2;linear@/usr/lib/python3/site-packages/torch/nn/"
      "functional.py:9;at::_ops::mm::call(at::Tensor const&)@ops.cpp:3",
      "main@train.py:4;forward@net.py:7;new_linear@/usr/lib/python3/site-packages/torch/nn/"
      "functional.py:9;at::_ops::mm::call(at::Tensor const&)@ops.cpp:3",
      "main@train.py:4;forward@net.py:8;new_linear@/usr/lib/python3/site-packages/torch/nn/"
      "functional.py:9;at::_ops::bmm::call(at::Tensor const&)@ops.cpp:3"};
  const auto of = [&stacks](KeyLevel level) { return StackKeys(level).Of(Stacks(stacks)); };
  EXPECT_NE(of(KeyLevel::kFrames)[0], of(KeyLevel::kFrames)[1]);
  EXPECT_EQ(of(KeyLevel::kFrames)[1], of(KeyLevel::kFrames)[2]);
  EXPECT_EQ(of(KeyLevel::kInnermost)[0], of(KeyLevel::kInnermost)[2]);
  EXPECT_EQ(of(KeyLevel::kOperation)[0], of(KeyLevel::kOperation)[1]);
  EXPECT_NE(of(KeyLevel::kOperation)[1], of(KeyLevel::kOperation)[2]);
  EXPECT_NE(of(KeyLevel::kFramesAndLines)[1], of(KeyLevel::kFramesAndLines)[2]);
}

TEST(StackKeys, FilesAsRunsShareThem) {
  EXPECT_EQ(ComparableFile("/usr/lib/python3.11/site-packages/torch/nn/modules/module.py"),
            "torch/nn/modules/module.py");
  EXPECT_EQ(ComparableFile(R"(C:\env\Lib\site-packages\torch\nn\module.py)"), "torch/nn/module.py");
  EXPECT_EQ(ComparableFile(
                "/tmp/torchinductor_ann/co/coc6o35wabcdefghijklmnopqrstuvwxyz234567abcdefgh234.py"),
            "(compiled)");
  EXPECT_EQ(ComparableFile("<eval_with_key>.12"), ComparableFile("<eval_with_key>.7"));
  EXPECT_EQ(ComparableFile("<ipython-input-3-0f1e>"), ComparableFile("<ipython-input-12-aa>"));
  EXPECT_EQ(ComparableFile("/home/ann/net.py"), "net.py");
}

}  // namespace
}  // namespace memtool
