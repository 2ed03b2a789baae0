#include "options/default_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "memtool/formats/open.h"
#include "memtool/profile/base/natural_order.h"

namespace memtool::commands {

namespace {

constexpr int kSilenceMs = 1000;
constexpr std::size_t kMaxEntries = 1000;

std::optional<std::string> FromEnvironment() {
  const char* path = std::getenv("MEMTOOL_PROFILE");
  if (path == nullptr || *path == '\0') {
    return std::nullopt;
  }
  return path;
}

enum class Stdin { kNone, kEmpty, kReady, kSilent };

// Whether standard input can be read from; checks without consuming a byte.
Stdin LookAtStdin() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) {
    return Stdin::kNone;
  }
  if (S_ISREG(status.st_mode)) {
    const off_t at = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && at < status.st_size ? Stdin::kReady : Stdin::kEmpty;
  }
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) {
    return Stdin::kNone;
  }
  struct pollfd wait {
    .fd = STDIN_FILENO, .events = POLLIN, .revents = 0
  };
  const int ready = ::poll(&wait, 1, kSilenceMs);
  if (ready == 0) {
    return Stdin::kSilent;
  }
  return ready > 0 && (wait.revents & POLLIN) != 0 ? Stdin::kReady : Stdin::kEmpty;
}

// Waits for the first byte of a silent pipe.
Stdin WaitForStdin() {
  struct pollfd wait {
    .fd = STDIN_FILENO, .events = POLLIN, .revents = 0
  };
  ::poll(&wait, 1, -1);
  return (wait.revents & POLLIN) != 0 ? Stdin::kReady : Stdin::kEmpty;
}

std::optional<std::string> NewestProfileHere() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, std::string>> files;
  std::size_t entries = 0;
  for (fs::directory_iterator it(".", error), end; !error && it != end; it.increment(error)) {
    if (++entries > kMaxEntries) {
      break;
    }
    std::error_code ignored;
    if (it->is_regular_file(ignored)) {
      files.emplace_back(it->last_write_time(ignored), it->path().filename().string());
    }
  }
  // In a fresh clone or an unpacked archive all files have the same time: then memory9 counts as
  // newer than memory1.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : NaturalLess(b.second, a.second);
  });
  for (const auto& [time, name] : files) {
    if (formats::CertainReader(name) != nullptr) {
      return name;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> DefaultInput(Streams& streams) {
  const std::optional<std::string> environment = FromEnvironment();
  Stdin state = LookAtStdin();
  if (state == Stdin::kSilent && !environment) {
    Warn(streams,
         "waiting for a profile on standard input; to read a file, name it: "
         "memtool COMMAND FILE");
    (void)streams.err.Flush();
    state = WaitForStdin();
  }
  if (state == Stdin::kReady) {
    Warn(streams, "reading standard input");
    return std::string("-");
  }
  if (environment) {
    Warn(streams, fmt::format("reading $MEMTOOL_PROFILE: {}", *environment));
    return *environment;
  }
  if (auto newest = NewestProfileHere()) {
    Warn(streams, fmt::format("reading the newest profile in this folder: {}", *newest));
    return *std::move(newest);
  }
  return Fail(ErrorCode::kUsage,
              "no input: no FILE, nothing on standard input, no "
              "$MEMTOOL_PROFILE, and no profile in this folder",
              "memtool help shows how to name one");
}

}  // namespace memtool::commands
