#include "memtool/profile/base/paths.h"

namespace memtool {

std::string_view WithoutArguments(std::string_view name) {
  name.remove_prefix(name.starts_with('.') ? 1 : 0);
  for (std::size_t at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1)) {
    const bool reserved =
        name.substr(at).starts_with("(anonymous namespace)") ||
        (name.substr(at).starts_with("()") && at >= 8 && name.substr(at - 8, 8) == "operator");
    if (!reserved) {
      return name.substr(0, at);
    }
  }
  return name;
}

}  // namespace memtool
