#include "memtool/profile/select/frame_class.h"

#include <gtest/gtest.h>

#include <string>

#include "memtool/profile/select/operation_name.h"

namespace memtool {
namespace {

FrameClass ClassifyFrame(std::string_view function, std::string_view file) {
  return FrameClassifier::Builtin().Classify(function, file);
}

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

// Snapshots of conda builds have no files for them; unlike C++ they have no arguments either.
TEST(FrameClass, StaticSymbolsOfTheInterpreterHaveNoFile) {
  Origin snapshot{.framework = Framework::kPyTorch, .kind = RecordingKind::kSnapshot};
  const FrameClassifier& rules = FrameClassifier::Builtin();
  for (const char* function : {"cfunction_call", "vectorcall_maybe.constprop.0", "some_static"}) {
    EXPECT_FALSE(rules.Classify(function, "", snapshot).app) << function;
    EXPECT_TRUE(rules.Classify(function, "", snapshot).wrapper) << function;
  }
  EXPECT_TRUE(rules.Classify("train(int)", "", snapshot).app);
  EXPECT_TRUE(rules.Classify("some_static", "").app);  // from a writer that has no files at all
  EXPECT_FALSE(rules.Classify("pythread_wrapper", "").app);
}

TEST(FrameClass, InstalledPackagesAreNotOnesOwn) {
  constexpr const char* kSite = "/opt/conda/lib/python3.11/site-packages/";
  const FrameClass brax = ClassifyFrame("load", std::string(kSite) + "brax/io.py");
  EXPECT_FALSE(brax.app);
  EXPECT_TRUE(brax.installed);
  const FrameClass torch = ClassifyFrame("linear", std::string(kSite) + "torch/functional.py");
  EXPECT_FALSE(torch.app || torch.installed);
  EXPECT_TRUE(torch.framework);
  const FrameClass library = ClassifyFrame("inner", "/opt/conda/lib/python3.11/contextlib.py");
  EXPECT_FALSE(library.app || library.installed || library.framework);
  EXPECT_TRUE(library.python);
  EXPECT_FALSE(ClassifyFrame("f", "D:\\x\\.venv\\Lib\\site-packages\\einops\\einops.py").app);
  EXPECT_FALSE(ClassifyFrame("<module>", "/opt/conda/bin/torchrun").app);
  EXPECT_TRUE(ClassifyFrame("<module>", "/tmp/ipykernel_77/1234.py").app);
}

TEST(FrameClass, PackagesAreKnownFromTheirSources) {
  for (const char* file : {"/w/transformers/src/transformers/modeling.py", "/w/vllm/vllm/engine.py",
                           "torch/nn/modules/linear.py", "/w/mxnet/python/mxnet/gluon/nn.py"}) {
    EXPECT_TRUE(ClassifyFrame("f", file).framework) << file;
  }
  for (const char* file : {"/home/u/vllm/train.py", "/home/u/fire/run.py", "train.py"}) {
    EXPECT_TRUE(ClassifyFrame("f", file).app) << file;
  }
}

TEST(FrameClass, LayersSpeakInOrderAndOwnFirst) {
  FrameRules rules = BuiltinFrameRules();
  rules.layers.insert(rules.layers.begin(),
                      {{.own = {{.name = "file", .words = {"transformers"}}},
                        .not_own = {{.name = "file", .words = {"/helper/", "transformers"}}}}});
  rules.layers.insert(rules.layers.begin(),
                      {.own = {}, .not_own = {{.name = "--not-own", .words = {"/^trace_/"}}}});
  const auto classifier = FrameClassifier::Compile(rules);
  ASSERT_TRUE(classifier);
  constexpr const char* kFile = "/x/site-packages/transformers/model.py";
  EXPECT_TRUE(classifier->Classify("forward", kFile).app);
  EXPECT_TRUE(classifier->Classify("helper", kFile).app);
  EXPECT_FALSE(classifier->Classify("trace_forward", kFile).app);
  EXPECT_FALSE(classifier->Classify("helper", "train.py").app);
  EXPECT_FALSE(FrameClassifier::Compile(
      {.layers = {{.own = {{.name = "--own", .words = {"/(/"}}}, .not_own = {}}}}));
}

TEST(OperationName, IsWhatAProgramCalls) {
  EXPECT_EQ(OperationName("torch::autograd::THPVariable_mul(_object*, _object*, _object*)"), "mul");
  EXPECT_EQ(OperationName("_object* torch::autograd::TypeError_to_NotImplemented_<&"
                          "torch::autograd::THPVariable_div>(_object*, _object*, _object*)"),
            "div");
  EXPECT_EQ(OperationName("at::_ops::sum_dim_IntList::call(at::Tensor const&)"), "sum");
  EXPECT_EQ(OperationName("at::_ops::_to_copy::call(at::Tensor const&)"), "_to_copy");
  EXPECT_EQ(OperationName("at::_ops::arange_start_out::call(c10::Scalar const&)"), "arange");
  EXPECT_EQ(OperationName("aten::mm"), "mm");
  EXPECT_EQ(OperationName("at::Tensor torch::autograd::generated::details::mul_tensor_backward<"
                          "at::Tensor>(at::Tensor const&)"),
            "mul_tensor_backward");
  EXPECT_EQ(
      OperationName("torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)"),
      "DivBackward0");
  EXPECT_EQ(OperationName("void torch::autograd::AccumulateGrad::accumulateGrad<torch::autograd::"
                          "AccumulateGrad::apply(std::vector<at::Tensor>&&)::{lambda()#1}>()"),
            "");
  EXPECT_EQ(OperationName("<built-in method relu of type object at 0x7f>"), "relu");
  EXPECT_EQ(OperationName("cache_miss"), "jit");
  for (const char* function : {"cfunction_call", "forward",
                               "at::empty_strided(c10::ArrayRef<long>)", "mylib::apply(int)", ""}) {
    EXPECT_EQ(OperationName(function), "") << function;
  }
}

}  // namespace
}  // namespace memtool
