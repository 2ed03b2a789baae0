#include "mcp/confine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace memtool::commands {

namespace {

Result<std::string> Resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr),
                                                          &std::free);
  if (!found) {
    return Fail({.code = ErrorCode::kIo,
                 .input = path,
                 .message = "cannot be opened: " + std::generic_category().message(errno)});
  }
  return std::string(found.get());
}

bool IsBelow(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

// What version 1 of Landlock knows: everything about files that matters here.
constexpr std::uint64_t kReads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kHandled =
    kReads | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

// False where the folder cannot be allowed.
bool Allow(int rules, const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_PATH | O_CLOEXEC);
  const landlock_path_beneath_attr beneath{.allowed_access = kReads, .parent_fd = fd};
  const bool done = fd >= 0 && ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
                                         &beneath, 0) == 0;
  ::close(fd);
  return done;
}

}  // namespace

Result<Roots> Roots::Make(const std::vector<std::string>& folders) {
  Roots roots;
  for (const std::string& folder : folders) {
    auto path = Resolved(folder);
    MEMTOOL_TRY(path);
    struct stat status {};
    if (::stat(path->c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return Fail(ErrorCode::kUsage, fmt::format("--root: '{}' is not a folder", folder));
    }
    roots.folders_.push_back(*std::move(path));
  }
  return roots;
}

Result<void> Roots::Check(const std::string& name) const {
  const auto is_below = [this](const std::string& path) {
    return std::any_of(folders_.begin(), folders_.end(),
                       [&](const std::string& folder) { return IsBelow(path, folder); });
  };
  const bool absolute = name.starts_with('/');
  auto path = Resolved(absolute ? name : folders_.front() + "/" + name);
  if (path && is_below(*path)) {
    return {};
  }
  // Whether a file outside is there is nobody's business.
  if (!path && is_below(absolute ? name : folders_.front()) &&
      name.find("..") == std::string::npos) {
    path.error().input = name;
    return Fail(std::move(path.error()));
  }
  return Fail({.code = ErrorCode::kUsage,
               .input = name,
               .message = "is outside of the folders that this server may read",
               .hint = "memtool mcp --root DIR adds one"});
}

Result<void> Roots::Enter() const {
  if (::chdir(folders_.front().c_str()) != 0) {
    return Fail({.code = ErrorCode::kIo,
                 .input = folders_.front(),
                 .message = "cannot be entered: " + std::generic_category().message(errno)});
  }
  return {};
}

bool Roots::Enforce() const {
  const landlock_ruleset_attr handled{.handled_access_fs = kHandled};
  const auto rules =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0));
  if (rules < 0) {
    return false;
  }
  bool done = std::all_of(folders_.begin(), folders_.end(),
                          [rules](const std::string& folder) { return Allow(rules, folder); });
  // What says how much memory there is.
  for (const char* system : {"/proc", "/sys/fs/cgroup"}) {
    (void)Allow(rules, system);
  }
  done = done && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  ::close(rules);
  return done;
}

}  // namespace memtool::commands
