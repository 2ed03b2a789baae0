#include "options/user/user_files.h"

#include <cstdlib>
#include <filesystem>

namespace memtool::commands {

std::string UserFile(const char* variable, std::string_view name) {
  if (const char* named = std::getenv(variable)) {
    return named;
  }
  const auto path = [](const char* from) {
    const char* value = std::getenv(from);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  std::filesystem::path folder = path("XDG_CONFIG_HOME");
  if (!folder.is_absolute()) {  // as the XDG specification requires
    const std::filesystem::path home = path("HOME");
    folder = home.empty() ? home : home / ".config";
  }
  const std::filesystem::path file = folder / "memtool" / name;
  std::error_code error;
  return !folder.empty() && std::filesystem::exists(file, error) ? file.string() : std::string();
}

}  // namespace memtool::commands
