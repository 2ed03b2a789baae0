// The names that JAX gives to operations of a compiled program, as scopes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace memtool::formats::xla {

inline constexpr std::size_t kMaxScopes = 64;

// "jit(f)/jit(main)/transpose(jvp(Dense_0))/dot_general[precision=None]" as "jit(f)", "jit(main)",
// "transpose(jvp(Dense_0))", "dot_general": outermost first, views into `op_name`. Slashes within
// brackets do not divide; parameters in brackets at a scope's end are left out, an index
// ("params['w']") is not; empty scopes are dropped. Of a deeper name the innermost kMaxScopes are
// kept.
std::vector<std::string_view> SplitOpName(std::string_view op_name);

}  // namespace memtool::formats::xla
