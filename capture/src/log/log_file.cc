#include "log/log_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/pages.h"
#include "base/text.h"

namespace memtool::capture {

namespace {

// A program's timer may interrupt a call again and again: then a smaller piece is asked for.
constexpr int kMaxRetries = 20;

// fstat is a symbol of GLIBC_2.33; the kernel's structure is the library's on both processors.
bool Identify(int fd, struct stat* found) {
  return syscall(SYS_fstat, fd, found) == 0;
}

// Out of the way of programs that close, or rely on, the lowest numbers. Not higher than the table
// that every process begins with, of 64: it would have to grow, which waits for all processors
// (RCU) when threads share it, 10 ms and more.
int MoveUp(int fd) {
  constexpr rlim_t kHigh = 56;
  constexpr rlim_t kBelowLimit = 8;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= 2 * kBelowLimit) {
    return fd;
  }
  const rlim_t top = limit.rlim_cur - kBelowLimit;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(top < kHigh ? top : kHigh));
  if (moved < 0) {
    return fd;
  }
  close(fd);
  return moved;
}

int OpenNew(const char* path, int flags) {
  int fd = -1;
  for (int i = 0; i < kMaxRetries && fd < 0; ++i) {
    fd = ::open(path, O_RDWR | O_CLOEXEC | flags, 0644);
    if (fd < 0 && errno != EINTR) {
      break;
    }
  }
  return fd;
}

int Write(int fd, const void* from, std::size_t size) {
  const ssize_t written = write(fd, from, size);
  return written == static_cast<ssize_t>(size) ? 0 : written < 0 ? errno : ENOSPC;
}

// Gives the file a name only when the head is in it: the process may end at any moment, and a file
// that is found is a log. -1 and the error, EEXIST or that this cannot be done here: not all file
// systems have files without names.
int CreateWhole(const char* path, const void* head, std::size_t size, int* error) {
  static char folder[4096];
  CopyText(folder, sizeof folder, path);
  folder[BaseName(path) - path] = '\0';
  const int fd = OpenNew(*folder == '\0' ? "." : folder, O_TMPFILE);
  if (fd < 0) {
    *error = errno;
    return -1;
  }
  // Of the thread: its descriptors may be its own.
  char name[24 + kMaxDigits] = "/proc/thread-self/fd/";
  PutDigits(name + strlen(name), static_cast<unsigned long>(fd));
  *error = Write(fd, head, size);
  if (*error == 0 && linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
    return fd;
  }
  *error = *error != 0 ? *error : errno;
  close(fd);
  return -1;
}

}  // namespace

bool LogFile::IsOurs(int fd) const {
  struct stat found {};
  return fd >= 0 && Identify(fd, &found) && found.st_dev == device_ && found.st_ino == inode_;
}

int LogFile::Create(const char* path, const void* head, std::size_t size) {
  int error = 0;
  int fd = CreateWhole(path, head, size, &error);
  if (fd < 0 && error != EEXIST) {
    fd = OpenNew(path, O_CREAT | O_EXCL);
    error = fd < 0 ? errno : Write(fd, head, size);
  }
  struct stat created {};
  if (error == 0 && !Identify(fd, &created)) {
    error = errno;
  }
  if (fd >= 0 && error != 0) {
    unlink(path);
    close(fd);
  }
  if (error != 0) {
    return error;
  }
  path_ = path;
  device_ = created.st_dev;
  inode_ = created.st_ino;
  fd_ = MoveUp(fd);
  return 0;
}

// A descriptor of our file, by its path when the program has closed ours.
bool LogFile::Reach() {
  if (IsOurs(fd_)) {
    return true;
  }
  if (fd_ < 0) {
    return false;
  }
  const int fd = ::open(path_, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || !IsOurs(fd)) {
    if (fd >= 0) {
      close(fd);
    }
    return false;
  }
  fd_ = MoveUp(fd);
  return true;
}

int LogFile::Reserve(std::uint64_t at, std::size_t size) {
  if (!Reach()) {
    return ESTALE;
  }
  int error = EINTR;
  for (int i = 0; i < kMaxRetries && error == EINTR; ++i) {
    error = posix_fallocate(fd_, static_cast<off_t>(at), static_cast<off_t>(size));
  }
  return error;
}

std::uint8_t* LogFile::Map(std::uint64_t at, std::size_t size, int* error) {
  if (!Reach()) {
    *error = ESTALE;
    return nullptr;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t skip = at % page;
  void* mapped = mmap(nullptr, size + skip, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                      static_cast<off_t>(at - skip));
  *error = errno;
  return mapped == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(mapped) + skip;
}

void LogFile::Unmap(std::uint8_t* mapped, std::size_t size) {
  if (mapped != nullptr) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto skip = reinterpret_cast<std::uintptr_t>(mapped) % page;
    munmap(mapped - skip, size + skip);
  }
}

void LogFile::MakePrivate(std::uint8_t* mapped, std::size_t size) {
  if (mapped == nullptr) {
    return;
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t skip = reinterpret_cast<std::uintptr_t>(mapped) % page;
  const std::size_t whole = size + skip;
  void* copy = MapPages(whole);
  if (copy != nullptr) {
    memcpy(copy, mapped - skip, whole);
    mremap(copy, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, mapped - skip);
  }
}

void LogFile::Cut(std::uint64_t size) {
  if (Reach()) {
    // A failure leaves the file as long as it was.
    [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(size));
  }
}

void LogFile::Close() {
  if (IsOurs(fd_)) {
    close(fd_);
  }
  fd_ = -1;
}

void LogFile::Forget() {
  Close();
  device_ = 0;
  inode_ = 0;
}

void LogFile::Remove() {
  if (IsOurs(fd_)) {
    unlink(path_);
  }
  Close();
}

}  // namespace memtool::capture
