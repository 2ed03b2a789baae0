#include "base/pages.h"

#include <sys/mman.h>

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

}  // namespace memtool::capture
