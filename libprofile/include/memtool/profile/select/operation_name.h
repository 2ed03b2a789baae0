// What a program calls an operation whose native code has a name of its own.
#pragma once

#include <string_view>

namespace memtool {

// "mul" of "torch::autograd::THPVariable_mul(_object*, …)", "sum" of
// "at::_ops::sum_dim_IntList::call(…)" and of "aten::sum", "div_tensor_self_backward" of autograd's
// function of that name, "DivBackward0" of its node's apply, "jit" of JAX's cache_miss. Empty where
// a name does not say an operation.
std::string_view OperationName(std::string_view function);

}  // namespace memtool
