// Names in traces of XLA's profiler, which writes files without folders, and spans of its own
// runtime beside those that the program opened.
#pragma once

#include <string_view>

namespace memtool {

// True for a name like "pjit.py" without a folder that is JAX's own, or passed through on the way.
// Some are also likely names for a program's files ("core.py" is one of them, "train.py" is not): a
// frame of the program that calls them is then shown instead.
bool IsBareFileOfJax(std::string_view file);

// True for spans that XLA and TensorFlow open themselves: "PJRT_LoadedExecutable_Execute",
// "ExecutorState::Process", "Build buffer allocations".
bool IsXlaRuntimeSpan(std::string_view name);

// True for threads that the runtime begins: "TfrtTpuClient", "py_xla_execute/1", "tf_Compute/3".
bool IsXlaRuntimeThread(std::string_view name);

// True for what stands in an operation's name where there is none: "dummy".
bool IsPlaceholderOp(std::string_view name);

// "jit(f)": a jitted function as operations' names have it.
constexpr bool IsJitName(std::string_view name) {
  return name.starts_with("jit(");
}

}  // namespace memtool
