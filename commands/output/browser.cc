#include "output/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemps is POSIX
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace memtool::commands {

namespace {

bool Spawn(const std::string& program, const std::string& path) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  std::string name = program;
  std::string argument = path;
  std::array<char*, 3> arguments{name.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0;
}

}  // namespace

std::string OpenInBrowser(const std::string& path) {
  const char* chosen = ::getenv("BROWSER");
  for (const std::string& program :
       {std::string(chosen == nullptr ? "" : chosen), std::string("xdg-open"),
        std::string("sensible-browser"), std::string("open")}) {
    if (!program.empty() && Spawn(program, path)) {
      return program;
    }
  }
  return {};
}

Result<std::string> TemporaryFile(const std::string& suffix) {
  const char* folder = ::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) +
                     "/memtool-XXXXXX" + suffix;
  const int fd = ::mkostemps(path.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
  if (fd < 0) {
    return Fail(Error{.code = ErrorCode::kOutput,
                      .input = path,
                      .message = "cannot be made: " + std::generic_category().message(errno)});
  }
  ::close(fd);
  return path;
}

}  // namespace memtool::commands
