#include "base.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

namespace memtool::capture {

__thread ThreadState t_state __attribute__((tls_model("initial-exec")));

namespace {

void Futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Lock::Acquire() {
  std::uint32_t seen = 0;
  if (state_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) {
    return;
  }
  // Held for tens of nanoseconds as a rule: look again before asking the kernel.
  for (int spin = 0; spin < 100; ++spin) {
    seen = 0;
    if (state_.compare_exchange_weak(seen, 1, std::memory_order_acquire)) {
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (state_.exchange(2, std::memory_order_acquire) != 0) {
    Futex(&state_, FUTEX_WAIT_PRIVATE, 2);
  }
}

void Lock::Release() {
  if (state_.exchange(0, std::memory_order_release) == 2) {
    Futex(&state_, FUTEX_WAKE_PRIVATE, 1);
  }
}

void* MapPages(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    return nullptr;
  }
  madvise(pages, bytes, MADV_NOHUGEPAGE);  // most of it is never touched
  return pages;
}

std::size_t CutLength(const char* text, std::size_t most) {
  return text == nullptr ? 0 : strnlen(text, most);
}

void CopyText(char* to, std::size_t size, const char* text) {
  const std::size_t length = CutLength(text, size - 1);
  memcpy(to, text == nullptr ? "" : text, length);
  to[length] = '\0';
}

bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) {
      return false;
    }
  }
  return true;
}

bool Equal(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') {
      return true;
    }
  }
  return false;
}

const char* BaseName(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    name = *path == '/' ? path + 1 : name;
  }
  return name;
}

void Complain(const char* message, const char* detail) {
  char line[512];
  std::size_t length = 0;
  const char* const parts[] = {"memtool capture: ", message, detail, "\n"};
  for (const char* part : parts) {
    const std::size_t size = CutLength(part, sizeof line - 1 - length);
    memcpy(line + length, part == nullptr ? "" : part, size);
    length += size;
  }
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, length);
}

std::int64_t Now(int clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

}  // namespace memtool::capture
