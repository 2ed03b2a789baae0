#include "base/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memtool::capture {

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
  // Usually held for tens of nanoseconds: look again before asking the kernel.
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

}  // namespace memtool::capture
