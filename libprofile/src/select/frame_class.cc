#include "memtool/profile/select/frame_class.h"

#include <algorithm>
#include <array>
#include <string>

namespace memtool {

namespace {

// Packages below site-packages/ or dist-packages/ that are frameworks, not somebody's model.
constexpr std::array<std::string_view, 21> kFrameworkPackages{
    "torch", "torchgen", "functorch",  "torchvision",     "torchaudio", "torch_xla", "triton",
    "jax",   "jaxlib",   "flax",       "haiku",           "optax",      "chex",      "equinox",
    "mxnet", "numpy",    "tensorflow", "tensorflow_core", "keras",      "gluonnlp",  "_pytest"};

// The same frameworks run from a checkout of their sources.
constexpr std::array<std::string_view, 16> kFrameworkFolders{"/debugpy/",
                                                             "/pydevd",
                                                             "/jax/_src/",
                                                             "/jax/interpreters/",
                                                             "/jax/experimental/",
                                                             "/jaxlib/",
                                                             "/torch/nn/",
                                                             "/torch/_",
                                                             "/torch/optim/",
                                                             "/torch/utils/",
                                                             "/torch/autograd",
                                                             "/torch/cuda/",
                                                             "/torch/functional.py",
                                                             "/python/mxnet/",
                                                             "/torch/csrc/",
                                                             "/tensorflow/python/"};

// Framework frames around every call: they do not say which call it was.
constexpr std::array<std::string_view, 8> kWrappers{"reraise_with_filtered_traceback",
                                                    "wrapped_module_method",
                                                    "_call_impl",
                                                    "_wrapped_call_impl",
                                                    "decorate_context",
                                                    "decorate_autocast",
                                                    "_wrapped",
                                                    "wrapper"};

// Native code of frameworks, wherever the name begins ("_object* torch::autograd::…").
constexpr std::array<std::string_view, 9> kNativeNamespaces{
    "c10::", "at::",         "torch::", "pybind11::", "xla::",
    "tsl::", "tensorflow::", "mxnet::", "caffe2::"};

// Native code of the unwinder, allocators, runtimes and the interpreter.
constexpr std::array<std::string_view, 22> kNativePrefixes{
    "std::",        "__gnu_cxx::",
    "nccl",         "cudaMalloc",
    "cuMem",        "cublas",
    "cudnn",        "_Py",
    "Py_",          "PyObject",
    "PyEval",       "PyVector",
    "PyNumber",     "PyRun",
    "THP",          "__libc_start",
    "_start",       "start_thread",
    "clone",        "gomp_",
    "__restore_rt", "execute_native_thread_routine"};

bool IsPythonFile(std::string_view file) {
  return file.ends_with(".py") || file.ends_with(".pyx") || file.starts_with("<frozen ") ||
         file.starts_with("<ipython") || file.starts_with("/tmp/ipykernel") || file == "<string>" ||
         file == "<stdin>";
}

// What follows the last "site-packages/" or "dist-packages/", or nothing.
std::string_view BelowPackages(std::string_view file) {
  constexpr std::string_view kMark = "-packages/";
  const std::size_t at = file.rfind(kMark);
  return at == std::string_view::npos ? std::string_view{} : file.substr(at + kMark.size());
}

bool IsFrameworkFile(std::string_view file) {
  const std::string_view below = BelowPackages(file);
  if (!below.empty()) {
    const std::string_view package = below.substr(0, below.find_first_of("/."));
    return std::find(kFrameworkPackages.begin(), kFrameworkPackages.end(), package) !=
           kFrameworkPackages.end();
  }
  // PyTorch's profiler leaves out what comes before the package.
  return std::any_of(
      kFrameworkFolders.begin(), kFrameworkFolders.end(), [file](std::string_view folder) {
        return file.find(folder) != std::string_view::npos || file.starts_with(folder.substr(1));
      });
}

// "/usr/lib/python3.11/contextlib.py", "/opt/conda/lib/python3.9/threading.py"
bool IsPythonLibrary(std::string_view file) {
  if (file.starts_with("<frozen ")) {
    return true;
  }
  const bool library = file.find("/lib/python") != std::string_view::npos ||
                       file.find("/Lib/") != std::string_view::npos;  // Windows
  return library && BelowPackages(file).empty();
}

// "/usr/local/src/conda/python-3.12.3/Objects/call.c", or as its makefile names it,
// "../Objects/call.c": functions of the interpreter have any name.
bool IsInterpreterFile(std::string_view file) {
  constexpr std::array<std::string_view, 4> kFolders{"Objects/", "Python/", "Modules/", "Include/"};
  if (!file.ends_with(".c") && !file.ends_with(".h")) {
    return false;
  }
  return std::any_of(kFolders.begin(), kFolders.end(), [file](std::string_view folder) {
    const std::size_t at = file.find(folder);
    if (at == std::string_view::npos || (at > 0 && file[at - 1] != '/')) {
      return false;
    }
    const std::string_view before = file.substr(0, at);
    return before.find_first_not_of("./") == std::string_view::npos
               ? !file.starts_with('/')
               : before.find("ython") != std::string_view::npos;
  });
}

bool IsNativeRuntime(std::string_view function, std::string_view file) {
  // "??" is what PyTorch writes for code without symbols: the nearest exported name, a guess.
  if (file == "??" || (function.empty() && file.empty()) || IsInterpreterFile(file)) {
    return true;
  }
  return std::any_of(kNativePrefixes.begin(), kNativePrefixes.end(),
                     [&](std::string_view prefix) { return function.starts_with(prefix); }) ||
         std::any_of(
             kNativeNamespaces.begin(), kNativeNamespaces.end(),
             [&](std::string_view part) { return function.find(part) != std::string_view::npos; });
}

// Operations as PyTorch's profiler names them, without a file.
struct Operation {
  bool known = false;
  bool telling = false;  // more than that memory was allocated
};
Operation ProfilerOperation(std::string_view function, std::string_view file) {
  if (!file.empty()) {
    return {};
  }
  if (function.starts_with("aten::")) {
    return {true, !function.starts_with("aten::empty") && function != "aten::resize_"};
  }
  if (function.starts_with("autograd::engine::evaluate_function: ")) {
    return {true, false};
  }
  const std::size_t digits = function.find_last_not_of("0123456789") + 1;
  const bool backward =
      digits < function.size() && function.substr(0, digits).ends_with("Backward");
  return {backward, backward};
}

// "std::vector<…> torch::autograd::generated::DivBackward0::apply(…)", AccumulateGrad and its like.
bool IsAutogradNode(std::string_view function) {
  const std::size_t arguments = function.find("::apply(");
  const std::size_t at = arguments == std::string_view::npos
                             ? std::string_view::npos
                             : function.rfind("torch::autograd::", arguments);
  if (at == std::string_view::npos) {
    return false;
  }
  // Not within a template's arguments.
  const std::string_view before = function.substr(0, at);
  return std::count(before.begin(), before.end(), '<') ==
             std::count(before.begin(), before.end(), '>') &&
         function.substr(at, arguments - at).find_first_of("<(") == std::string_view::npos;
}

// "at::_ops::sum_dim_IntList::call(…)", but not of operations that only make memory.
bool IsTellingCall(std::string_view function) {
  constexpr std::string_view kOps = "at::_ops::";
  const std::size_t at = function.find(kOps);
  if (at == std::string_view::npos || function.find("::call(") == std::string_view::npos) {
    return false;
  }
  const std::string_view name = function.substr(at + kOps.size());
  return !name.starts_with("empty") && !name.starts_with("new_empty") &&
         !name.starts_with("resize_");
}

}  // namespace

FrameClass ClassifyFrame(std::string_view function, std::string_view raw_file) {
  std::string normal(raw_file);
  std::replace(normal.begin(), normal.end(), '\\', '/');  // recorded on Windows
  const std::string_view file = normal;
  const bool python = IsPythonFile(file);
  const Operation operation = ProfilerOperation(function, file);
  const bool hidden = operation.known || IsFrameworkFile(file) ||
                      (python ? IsPythonLibrary(file) : IsNativeRuntime(function, file));
  // The interpreter's own frames, what records the stack, and guesses at names do not say which
  // call it was either.
  const bool interpreter =
      !python && (file == "??" || function.find("torch::unwind::") != std::string_view::npos ||
                  function.find("wrap_kernel_functor_unboxed_") != std::string_view::npos ||
                  IsInterpreterFile(file) || function.starts_with("Py") ||
                  function.starts_with("_Py") || function.starts_with("_object* torch::"));
  const bool wrapper = hidden && (interpreter || std::find(kWrappers.begin(), kWrappers.end(),
                                                           function) != kWrappers.end());
  const bool op = operation.telling || (!python && IsAutogradNode(function));
  const bool call = !python && IsTellingCall(function);
  return {.app = !hidden, .python = python, .op = op, .call = call, .wrapper = wrapper};
}

}  // namespace memtool
