#include "memtool/profile/select/xla_names.h"

#include <algorithm>
#include <array>

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
constexpr std::array<std::string_view, 22> kRuntime{
    "PJRT_", "Pjrt", "PjRt", "DevicePut", "device_put", "shard_args", "cpp_pjit", "ParseArg", "RecordUsage",
    "Wait for ", "Thunk", "ThenExecute", "MakeOutput", "Resolve c", "Build buffer", "ComputeSem",
    "ExecutorProp", "ExecutorDone", "FunctionRun", "Memcpy", "XlaModule", "BatchedDevicePut"};
// clang-format on

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

}  // namespace memtool
