#include "memtool/profile/select/operation_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace memtool {

namespace {

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view LeadingWord(std::string_view text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), IsWord);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// The word after the last `mark`, or empty.
std::string_view WordBehind(std::string_view function, std::string_view mark) {
  const std::size_t at = function.rfind(mark);
  return at == std::string_view::npos ? std::string_view{}
                                      : LeadingWord(function.substr(at + mark.size()));
}

// The same after the first one.
std::string_view WordBehindFirst(std::string_view function, std::string_view mark) {
  const std::size_t at = function.find(mark);
  return at == std::string_view::npos ? std::string_view{}
                                      : LeadingWord(function.substr(at + mark.size()));
}

// "sum_dim_IntList" → "sum": the operator without its overload. Overloads begin with a capital, or
// are one of a few words.
std::string_view WithoutOverload(std::string_view name) {
  constexpr std::array<std::string_view, 10> kOverloads{
      "_start_out", "_start", "_dim",        "_out", "_memory_format",
      "_self",      "_other", "_correction", "_int", "_names"};
  for (std::size_t at = name.find('_', 1); at != std::string_view::npos;
       at = name.find('_', at + 1)) {
    if (at + 1 < name.size() && name[at + 1] >= 'A' && name[at + 1] <= 'Z') {
      name = name.substr(0, at);
      break;
    }
  }
  for (const std::string_view overload : kOverloads) {
    if (name.size() > overload.size() && name.ends_with(overload)) {
      return name.substr(0, name.size() - overload.size());
    }
  }
  return name;
}

// JAX functions through which a program's calls pass.
std::string_view JaxCall(std::string_view function) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCalls{
      {{"cache_miss", "jit"},
       {"f_jitted", "jit"},
       {"f_pmapped", "pmap"},
       {"vmap_f", "vmap"},
       {"grad_f", "grad"},
       {"value_and_grad_f", "value_and_grad"},
       {"fun_remat", "checkpoint"},
       {"deferring_binary_op", "operator"}}};
  const auto* call = std::find_if(kCalls.begin(), kCalls.end(),
                                  [function](const auto& each) { return each.first == function; });
  return call == kCalls.end() ? std::string_view{} : call->second;
}

}  // namespace

std::string_view OperationName(std::string_view function) {
  if (function.find("wrap_kernel_functor_unboxed_") != std::string_view::npos) {
    return {};  // a call of what its template's arguments name
  }
  constexpr std::string_view kAten = "aten::";
  if (function.starts_with(kAten)) {
    return function.substr(kAten.size());
  }
  for (const std::string_view builtin : {"<built-in method ", "<built-in function "}) {
    if (function.starts_with(builtin)) {
      return LeadingWord(function.substr(builtin.size()));
    }
  }
  if (const auto name = WordBehind(function, "THPVariable_"); !name.empty()) {
    return name;
  }
  if (function.starts_with("THPEngine_run_backward")) {
    return "backward";
  }
  // What follows the node's own name is its arguments, which name other types; a node within a
  // template's arguments is another function's.
  const std::string_view head = function.substr(0, function.find("::apply("));
  if (head.size() != function.size()) {
    const std::size_t node = head.rfind("::");
    const bool whole =
        std::count(head.begin(), head.end(), '<') == std::count(head.begin(), head.end(), '>');
    return whole && node != std::string_view::npos &&
                   head.find("torch::autograd::") != std::string_view::npos
               ? head.substr(node + 2)
               : std::string_view{};
  }
  if (const auto name = WordBehindFirst(function, "torch::autograd::generated::details::");
      !name.empty()) {
    return name;
  }
  if (const auto name = WordBehindFirst(function, "at::_ops::"); !name.empty()) {
    return WithoutOverload(name);
  }
  if (const auto name =
          WordBehindFirst(function, "torch::autograd::VariableType::(anonymous namespace)::");
      !name.empty()) {
    return WithoutOverload(name);
  }
  return JaxCall(function);
}

}  // namespace memtool
