// File names as programs wrote them, on Linux or Windows.
#pragma once

#include <cstring>
#include <string_view>

namespace memtool {

// What follows the last separator: "leak.py" of "/home/user/leak.py" or of "D:\\dev\\leak.py".
inline std::string_view BaseName(std::string_view path) {
  const bool windows = path.size() > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
  if (windows) {
    return path.substr(path.find_last_of("/\\") + 1);
  }
  // rfind looks at byte after byte.
  const void* slash = path.empty() ? nullptr : ::memrchr(path.data(), '/', path.size());
  return slash == nullptr
             ? path
             : path.substr(static_cast<std::size_t>(static_cast<const char*>(slash) - path.data()) +
                           1);
}

// A function's name without its arguments: "f" of "f(int)"; "(anonymous namespace)" and
// "operator()" are part of a name, and so is everything in a name that is not C++.
std::string_view WithoutArguments(std::string_view name);

}  // namespace memtool
