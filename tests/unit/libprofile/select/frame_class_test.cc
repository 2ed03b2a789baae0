#include "memtool/profile/select/frame_class.h"

#include <gtest/gtest.h>

#include <string>

namespace memtool {
namespace {

// Names as PyTorch's snapshots of real programs have them.
TEST(FrameClass, AutogradNodesNameOperations) {
  for (const char* function :
       {"torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)",
        "std::vector<at::Tensor> torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)",
        "torch::autograd::CopySlices::apply(std::vector<at::Tensor>&&)"}) {
    EXPECT_TRUE(ClassifyFrame(function, "").op) << function;
    EXPECT_FALSE(ClassifyFrame(function, "").app) << function;
  }
  for (const char* function :
       {"torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)",
        "void "
        "torch::autograd::AccumulateGrad::accumulateGrad<torch::autograd::AccumulateGrad::apply("
        "std::vector<at::Tensor>&&)::{lambda(at::Tensor&&)#1}>(at::Tensor&)",
        "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", "mylib::apply(int)"}) {
    EXPECT_FALSE(ClassifyFrame(function, "").op) << function;
  }
}

TEST(FrameClass, CallsOfOperationsThatOnlyMakeMemorySayNothing) {
  EXPECT_TRUE(ClassifyFrame("at::_ops::sum_dim_IntList::call(at::Tensor const&)", "").call);
  EXPECT_FALSE(ClassifyFrame("at::_ops::sum_dim_IntList::redispatch(at::Tensor const&)", "").call);
  for (const char* operation :
       {"empty_strided", "empty_memory_format", "new_empty_strided", "resize_"}) {
    EXPECT_FALSE(
        ClassifyFrame(std::string("at::_ops::") + operation + "::call(c10::SymInt)", "").call)
        << operation;
  }
}

TEST(FrameClass, TheInterpreterIsKnownByItsSources) {
  constexpr const char* kCall = "/usr/local/src/conda/python-3.12.3/Objects/call.c";
  EXPECT_FALSE(ClassifyFrame("cfunction_call", kCall).app);
  EXPECT_TRUE(ClassifyFrame("cfunction_call", kCall).wrapper);
  EXPECT_FALSE(ClassifyFrame("run_mod", "/build/Python-3.11.4/Python/pythonrun.c").app);
  EXPECT_FALSE(ClassifyFrame("run_mod", "../Python/pythonrun.c").app);
  EXPECT_FALSE(ClassifyFrame("cfunction_call", "Objects/methodobject.c").app);
  EXPECT_TRUE(ClassifyFrame("run", "src/Objects/call.c").app);
  EXPECT_TRUE(ClassifyFrame("run", "/home/u/game/Objects/call.c").app);
  EXPECT_TRUE(ClassifyFrame("run", "/home/u/python-tools/src/call.c").app);
}

}  // namespace
}  // namespace memtool
