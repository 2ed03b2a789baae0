// File names as programs wrote them, on Linux or Windows.
#pragma once

#include <string_view>

namespace memtool {

// What follows the last separator: "leak.py" of "/home/user/leak.py" or of "D:\\dev\\leak.py".
inline std::string_view BaseName(std::string_view path) {
  const bool windows = path.size() > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
  const std::size_t at = windows ? path.find_last_of("/\\") : path.rfind('/');
  return path.substr(at + 1);
}

// A function's name without its arguments: "f" of "f(int)"; "(anonymous namespace)" and
// "operator()" are part of a name, and so is everything in a name that is not C++.
std::string_view WithoutArguments(std::string_view name);

}  // namespace memtool
