#include "output/sink.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace memtool::commands {

namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10U;

// Writes everything; returns 0 or errno.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

tl::unexpected<Error> NotWritable(const std::string& name, int number) {
  return Fail(Error{.code = ErrorCode::kOutput,
                    .input = name,
                    .message = "cannot be written: " + std::generic_category().message(number)});
}

}  // namespace

FdSink::~FdSink() {
  WriteAll(fd_, pending_);
}

void FdSink::WritePending() {
  if (!pending_.empty() && before_output_) {
    std::exchange(before_output_, {})();
  }
  failed_ = failed_ != 0 ? failed_ : WriteAll(fd_, pending_);
  pending_.clear();
}

void FdSink::Write(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= kBuffer) {
    WritePending();
  }
}

Result<void> FdSink::Flush() {
  WritePending();
  if (failed_ != 0) {
    return NotWritable("standard output", failed_);
  }
  return {};
}

unsigned FdSink::TerminalWidth() const {
  struct winsize size {};
  if (::isatty(fd_) == 0 || ::ioctl(fd_, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  // Serial consoles and terminals made by programs may not know their size.
  constexpr unsigned kUsual = 80;
  return size.ws_col == 0 ? kUsual : size.ws_col;
}

void InputFiles::Add(const std::string& name) {
  struct stat status {};
  const int failed = name == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status);
  if (failed == 0 && S_ISREG(status.st_mode)) {
    files_.emplace_back(status.st_dev, status.st_ino);
  }
}

bool InputFiles::Has(const std::string& path) const {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 &&
         std::find(files_.begin(), files_.end(), std::pair(status.st_dev, status.st_ino)) !=
             files_.end();
}

Result<void> WriteWholeFile(const std::string& path, std::string_view bytes, Streams& streams) {
  if (path == "-") {
    streams.out.Write(bytes);
    return {};
  }
  if (streams.inputs.Has(path)) {
    return Fail(Error{.code = ErrorCode::kUsage,
                      .input = path,
                      .message = "is an input: writing to it would destroy it",
                      .hint = "name another file"});
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    // A device or a pipe: renaming over it would replace it.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int failed = fd < 0 ? errno : WriteAll(fd, bytes);
    if (fd >= 0) {
      ::close(fd);
    }
    return failed != 0 ? Result<void>(NotWritable(path, failed)) : Result<void>();
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) {
    return NotWritable(path, errno);
  }
  int failed = WriteAll(fd, bytes);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (failed == 0 && ::fchmod(fd, 0666 & ~mask) != 0) {
    failed = errno;
  }
  if (::close(fd) != 0 && failed == 0) {
    failed = errno;
  }
  if (failed == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) {
    ::unlink(temporary.c_str());
    return NotWritable(path, failed);
  }
  return {};
}

}  // namespace memtool::commands
