#include "memtool/profile/select/xla_names.h"

#include <algorithm>
#include <array>
#include <string>

namespace memtool {

namespace {

// jax/_src and the folders below it; and what they pass through of Python's library and NumPy. By
// name, for the search.
// clang-format off
constexpr std::array<std::string_view, 95> kFiles{
    "_common", "_linear", "abc", "abstract_arrays", "ad", "ad_checkpoint", "ad_util", "ann",
    "api", "api_util", "array", "array_constructors", "array_creation", "array_methods",
    "array_object", "basearray", "batching", "callback", "checkify", "compilation_cache",
    "compiler", "conditionals", "config", "contextlib", "control_flow", "convolution", "core",
    "custom_batching", "custom_derivatives", "custom_partitioning", "custom_transpose",
    "debugging", "discharge", "dispatch", "dlpack", "dtypes", "effects", "einsum", "export",
    "ffi", "fft", "flatten_util", "for_loop", "fromnumeric", "functions", "functools", "hijax",
    "indexing", "interpreters", "lax", "lax_numpy", "layout", "linear_util", "loops", "mesh",
    "mesh_utils", "mlir", "named_sharding", "numeric", "op_shardings", "partial_eval",
    "partition_spec", "pjit", "pmap", "pretty_printer", "primitives", "prng", "profiler", "pxla",
    "random", "reductions", "runpy", "scipy", "shard_map", "sharding", "sharding_impls",
    "sharding_specs", "slicing", "solves", "source_info_util", "special", "stages",
    "tensor_contractions", "threading", "traceback_util", "tree_util", "ufunc_api", "ufuncs",
    "util", "vectorize", "weakref_lru_cache", "windowed_reductions", "xla", "xla_bridge",
    "xla_metadata"};
// clang-format on
static_assert(std::is_sorted(kFiles.begin(), kFiles.end()));

// The others hold a colon: "BufferSequencingEvent::Execute", "Cast:Cast", "jit_f:XLA GPU module".
// clang-format off
constexpr std::array<std::string_view, 29> kRuntime{
    "PJRT_", "Pjrt", "PjRt", "DevicePut", "device_put", "shard_args", "cpp_pjit", "ParseArg", "RecordUsage",
    "Wait for ", "Thunk", "ThenExecute", "MakeOutput", "Resolve c", "Build buffer", "ComputeSem",
    "ExecutorProp", "ExecutorDone", "FunctionRun", "Memcpy", "XlaModule", "BatchedDevicePut",
    "Tfrt", "Tpu", "TPU", "AllocateRaw", "TransferT", "Enqueue", "Linearize"};
// Beginnings, in small letters.
constexpr std::array<std::string_view, 9> kThreads{"tf_", "tfrt", "tsl", "py_xla", "pjrt", "xla", "tpu", "eigen", "nccl"};
constexpr std::array<std::string_view, 8> kPlaceholders{"dummy", "unknown", "none", "null", "placeholder", "n/a", "no_op", "noname"};
// clang-format on

std::string Lower(std::string_view name) {
  std::string lower(name.substr(0, 64));
  for (char& c : lower) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return lower;
}

}  // namespace

bool IsBareFileOfJax(std::string_view file) {
  constexpr std::string_view kEnding = ".py";
  if (!file.ends_with(kEnding) || file.find('/') != std::string_view::npos) {
    return false;
  }
  file.remove_suffix(kEnding.size());
  return std::binary_search(kFiles.begin(), kFiles.end(), file);
}

bool IsXlaRuntimeSpan(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         std::any_of(kRuntime.begin(), kRuntime.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

bool IsXlaRuntimeThread(std::string_view name) {
  const std::string lower = Lower(name);
  return std::any_of(kThreads.begin(), kThreads.end(), [&lower](std::string_view begin) {
    return std::string_view(lower).starts_with(begin);
  });
}

bool IsPlaceholderOp(std::string_view name) {
  // "<unknown>", "(none)"
  if (name.size() > 2 && (name.front() == '<' || name.front() == '(' || name.front() == '[')) {
    name = name.substr(1, name.size() - 2);
  }
  return std::find(kPlaceholders.begin(), kPlaceholders.end(), Lower(name)) != kPlaceholders.end();
}

}  // namespace memtool
