#include "output/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "output/temporary_file.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as the kernel
constexpr mode_t kModeBits = 07777;
constexpr mode_t kAnyWrite = 0222;
constexpr mode_t kNewFile = 0666;
constexpr mode_t kOwnOnly = 0600;

// Where a name leads through symbolic links, the last of which may lead to nothing yet. None: it
// leads through /proc, to something that may have no name (/dev/stdout), or in a circle.
std::optional<fs::path> GetTarget(const std::string& path) {
  fs::path target = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    const fs::path folder =
        fs::canonical(target.has_parent_path() ? target.parent_path() : ".", error);
    if (error || links == kMaxLinks || folder.native().starts_with("/proc/")) {
      return std::nullopt;
    }
    target = folder / fs::read_symlink(target, error);
    if (error) {
      return std::nullopt;
    }
  }
  return target;
}

fs::path GetFolder(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Devices and pipes: a rename would replace them.
Result<void> WriteInPlace(const std::string& path, const ByteProducer& produce) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) {
    return Fail(NotWritable(path, errno));
  }
  MEMTOOL_TRY(produce([&](std::string_view bytes) -> Result<void> {
    const int failed = WriteAll(file.get(), bytes);
    return failed != 0 ? Result<void>(Fail(NotWritable(path, failed))) : Result<void>();
  }));
  const int failed = file.Close();
  return failed != 0 ? Result<void>(Fail(NotWritable(path, failed))) : Result<void>();
}

// Gives `file` the owner, mode and access list of what it replaces. False when it cannot be.
bool KeepRights(int file, const struct stat& old, const std::string& path) {
  struct stat made {};
  if (::fstat(file, &made) != 0) {
    return false;
  }
  const bool same = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!same && ::fchown(file, old.st_uid, old.st_gid) != 0) {
    return false;
  }
  if (::fchmod(file, old.st_mode & kModeBits) != 0) {
    return false;
  }
  // With a list, the group's bits of the mode are only its upper bound: without it they would let
  // in others.
  constexpr const char* kList = "system.posix_acl_access";
  std::array<char, 65536> list{};
  const ssize_t size = ::getxattr(path.c_str(), kList, list.data(), list.size());
  return size <= 0 || ::fsetxattr(file, kList, list.data(), static_cast<std::size_t>(size), 0) == 0;
}

// `old`: what has the name now; none for a new file.
Result<void> Replace(const std::string& path, const fs::path& target, const ByteProducer& produce,
                     const struct stat* old) {
  TemporaryFile file;
  if (const int failed = file.Make(GetFolder(target).native(), ".memtool-", {},
                                   old == nullptr ? kNewFile : kOwnOnly);
      failed != 0) {
    Error error = NotWritable(path, failed);
    if (failed == EACCES && old != nullptr) {
      error.hint = "to replace a file, its folder must be writable too";
    }
    return Fail(std::move(error));
  }
  MEMTOOL_TRY(produce([&](std::string_view bytes) -> Result<void> {
    const int failed = file.Write(bytes);
    return failed != 0 ? Result<void>(Fail(NotWritable(path, failed))) : Result<void>();
  }));
  if (old != nullptr && !KeepRights(file.fd(), *old, target.native())) {
    return Fail(Error{.code = ErrorCode::kOutput,
                      .input = path,
                      .message = "cannot be replaced: its owner and rights could not be kept",
                      .hint = "remove it first, or name another file"});
  }
  const int failed = file.KeepAs(target.filename().native());
  return failed != 0 ? Result<void>(Fail(NotWritable(path, failed))) : Result<void>();
}

}  // namespace

Error NotWritable(const std::string& name, int number) {
  return Error{.code = ErrorCode::kOutput,
               .input = name,
               .message = "cannot be written: " + std::generic_category().message(number),
               .hint = number == EFBIG ? "ulimit -f shows how large a file may be" : ""};
}

Result<void> WriteWholeFile(const std::string& path, std::string_view bytes, Streams& streams) {
  return StreamWholeFile(
      path, [bytes](const ByteSink& byte_sink) { return byte_sink(bytes); }, streams);
}

void CallbackSink::WriteBytes(std::string_view bytes) {
  constexpr std::size_t kPiece = std::size_t{256} << 10U;
  pending_ += bytes;
  if (pending_.size() >= kPiece) {
    static_cast<void>(Flush());  // the state stays
  }
}

Result<void> CallbackSink::Flush() {
  if (state_ && !pending_.empty()) {
    state_ = sink_(pending_);
  }
  pending_.clear();
  return state_;
}

Result<void> StreamWholeFile(const std::string& path, const ByteProducer& produce_all,
                             Streams& streams) {
  const ByteProducer produce = [&produce_all](const ByteSink& write) {
    OutputBound bound;
    return produce_all([&](std::string_view bytes) -> Result<void> {
      bound.Add(bytes.size());
      return write(bytes);
    });
  };
  if (path == "-") {
    return produce([&streams](std::string_view bytes) {
      streams.out.WriteBytes(bytes);
      return Result<void>();
    });
  }
  if (streams.inputs.Has(path)) {
    return Fail(Error{.code = ErrorCode::kUsage,
                      .input = path,
                      .message = "is an input: writing to it would destroy it",
                      .hint = "name another file"});
  }
  struct stat old {};
  // The kernel follows links here, and refuses those that others planted in a shared folder.
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) {
    return Fail(NotWritable(path, errno));
  }
  const std::optional<fs::path> target = GetTarget(path);
  if (!target || (exists && !S_ISREG(old.st_mode))) {
    return WriteInPlace(path, produce);
  }
  if (!exists) {
    return Replace(path, *target, produce, nullptr);
  }
  const bool allowed = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  const int refused = allowed ? EACCES : errno;
  // The administrator may write to everything, but a file without any right to write was made so.
  if (!allowed || (old.st_mode & kAnyWrite) == 0) {
    Error error = NotWritable(path, refused);
    error.message = refused == EACCES ? "is read-only" : error.message;
    error.hint = "name another file, or allow writing to this one";
    return Fail(std::move(error));
  }
  return Replace(path, *target, produce, &old);
}

Result<void> AppendToFile(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kNewFile);
  if (fd < 0) {
    return Fail(NotWritable(path, errno));
  }
  int failed = 0;
  while (!bytes.empty() && failed == 0) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      failed = errno;
    }
  }
  if (::close(fd) != 0 && failed == 0) {
    failed = errno;
  }
  return failed != 0 ? Result<void>(Fail(NotWritable(path, failed))) : Result<void>();
}

Result<std::string> WriteTemporary(std::string_view ending, std::string_view bytes) {
  return StreamTemporary(ending, [bytes](const ByteSink& byte_sink) { return byte_sink(bytes); });
}

Result<std::string> StreamTemporary(std::string_view ending, const ByteProducer& produce) {
  const char* chosen = std::getenv("TMPDIR");
  const std::string folder = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
  TemporaryFile file;
  int failed = file.Make(folder, "memtool-", ending, kOwnOnly);
  if (failed != 0) {
    return Fail(NotWritable(folder, failed));
  }
  std::string path = folder + "/" + file.name();
  MEMTOOL_TRY(produce([&](std::string_view bytes) -> Result<void> {
    const int wrote = file.Write(bytes);
    return wrote != 0 ? Result<void>(Fail(NotWritable(path, wrote))) : Result<void>();
  }));
  failed = file.Keep();
  return failed != 0 ? Result<std::string>(Fail(NotWritable(path, failed)))
                     : Result<std::string>(std::move(path));
}

bool SameTarget(const std::string& one, const std::string& other) {
  const auto canonical = [](const std::string& path) {
    const fs::path target = GetTarget(path).value_or(path);
    std::error_code error;
    const fs::path folder = fs::canonical(GetFolder(target), error);
    return (error ? GetFolder(target) : folder) / target.filename();
  };
  return canonical(one) == canonical(other);
}

}  // namespace memtool::commands
