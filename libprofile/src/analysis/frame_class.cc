#include "memtool/profile/analysis/frame_class.h"

#include <algorithm>
#include <array>

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

// Native code: the unwinder, the allocators, runtimes and the interpreter.
constexpr std::array<std::string_view, 31> kNativePrefixes{"c10::",
                                                           "at::",
                                                           "torch::",
                                                           "std::",
                                                           "pybind11::",
                                                           "__gnu_cxx::",
                                                           "xla::",
                                                           "tsl::",
                                                           "tensorflow::",
                                                           "mxnet::",
                                                           "nccl",
                                                           "cudaMalloc",
                                                           "cuMem",
                                                           "cublas",
                                                           "cudnn",
                                                           "_Py",
                                                           "Py_",
                                                           "PyObject",
                                                           "PyEval",
                                                           "PyVector",
                                                           "PyNumber",
                                                           "PyRun",
                                                           "THP",
                                                           "__libc_start",
                                                           "_start",
                                                           "start_thread",
                                                           "clone",
                                                           "__restore_rt",
                                                           "gomp_",
                                                           "non-virtual thunk to c10",
                                                           "execute_native_thread_routine"};

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
  return std::any_of(
      kFrameworkFolders.begin(), kFrameworkFolders.end(),
      [file](std::string_view folder) { return file.find(folder) != std::string_view::npos; });
}

// "/usr/lib/python3.11/contextlib.py", "/opt/conda/lib/python3.9/threading.py"
bool IsPythonLibrary(std::string_view file) {
  if (file.starts_with("<frozen ")) {
    return true;
  }
  const std::size_t at = file.find("/lib/python");
  return at != std::string_view::npos && BelowPackages(file).empty();
}

bool IsNativeRuntime(std::string_view function, std::string_view file) {
  return std::any_of(
             kNativePrefixes.begin(), kNativePrefixes.end(),
             [function](std::string_view prefix) { return function.starts_with(prefix); }) ||
         (function.empty() && file.empty());
}

}  // namespace

FrameClass ClassifyFrame(std::string_view function, std::string_view file) {
  const bool python = IsPythonFile(file);
  const bool hidden =
      IsFrameworkFile(file) || (python ? IsPythonLibrary(file) : IsNativeRuntime(function, file));
  const bool wrapper =
      hidden && std::find(kWrappers.begin(), kWrappers.end(), function) != kWrappers.end();
  return {.app = !hidden, .python = python, .wrapper = wrapper};
}

}  // namespace memtool
