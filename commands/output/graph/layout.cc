#include "output/graph/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "output/temporary_file.h"

namespace memtool::commands {

namespace {

tl::unexpected<Error> Failed(std::string message) {
  return Fail(ErrorCode::kOutput, std::move(message),
              "memtool dot writes the graph without laying it out");
}

// The DOT text as a file without a name, so that dot can read it while we only read its answer.
// -1, with errno, when it cannot be made.
int TextAsFile(std::string_view text) {
  const int fd = ::memfd_create("memtool-dot", MFD_CLOEXEC);
  const int failed = fd < 0 ? errno : WriteAll(fd, text);
  if (fd >= 0 && failed != 0) {
    ::close(fd);
  }
  if (failed == 0) {
    ::lseek(fd, 0, SEEK_SET);
  }
  errno = failed;
  return failed == 0 ? fd : -1;
}

// Reads until the end. 0, or why not: ETIMEDOUT after the deadline, else the system's reason.
int ReadAll(int fd, std::chrono::steady_clock::time_point deadline, std::string* picture) {
  std::array<char, 65536> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    struct pollfd wait {
      .fd = fd, .events = POLLIN, .revents = 0
    };
    if (left.count() <= 0) {
      return ETIMEDOUT;
    }
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      continue;
    }
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) {
      return 0;
    }
    if (got > 0) {
      picture->append(buffer.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return errno;
    }
  }
}

}  // namespace

Result<std::string> LayOut(std::string_view dot_text, const std::string& format,
                           std::chrono::milliseconds limit) {
  const UniqueFd input(TextAsFile(dot_text));
  std::array<int, 2> ends{-1, -1};
  if (input.get() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Failed("the graph cannot be given to dot: " + std::generic_category().message(errno));
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "dot";
  std::string type = "-T" + format;
  std::array<char*, 3> arguments{program.data(), type.data(), nullptr};
  pid_t child = 0;
  const int spawned =
      ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.Close();
  if (spawned != 0) {
    return Failed("Graphviz's dot cannot be run (" + std::generic_category().message(spawned) +
                  "): install graphviz");
  }
  std::string picture;
  const int failed = ReadAll(read_end.get(), std::chrono::steady_clock::now() + limit, &picture);
  if (failed != 0) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (failed == ETIMEDOUT) {
    return Failed(
        fmt::format("dot needs more than {} s for this graph; lower --nodecount or "
                    "--edgecount",
                    limit.count() / 1000));
  }
  if (failed != 0) {
    return Failed("what dot drew cannot be read: " + std::generic_category().message(failed));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty()) {
    return Failed("dot failed on this graph");
  }
  return picture;
}

}  // namespace memtool::commands
