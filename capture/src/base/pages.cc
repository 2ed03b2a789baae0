#include "base/pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace memtool::capture {

void* MapPages(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    return nullptr;
  }
  madvise(pages, bytes, MADV_NOHUGEPAGE);  // most of it is never touched
  return pages;
}

// The kernel copies the set before it refuses the first argument: no descriptor is needed, nothing
// changes, and no sandbox forbids the call. No set at all would be no error.
bool CanRead(std::uintptr_t at) {
  constexpr int kNoSuchWay = -1;
  const int before = errno;
  const bool can =
      at != 0 && syscall(SYS_rt_sigprocmask, kNoSuchWay, at, nullptr, 8) != 0 && errno == EINVAL;
  errno = before;
  return can;
}

}  // namespace memtool::capture
