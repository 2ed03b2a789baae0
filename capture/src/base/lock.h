// A lock without libpthread: pthread_mutex_* moved between libraries and symbol versions.
#pragma once

#include <atomic>
#include <cstdint>

namespace memtool::capture {

// On a futex.
class Lock {
 public:
  void Acquire();
  void Release();
  void Reset() { state_.store(0, std::memory_order_relaxed); }  // in a forked child

 private:
  std::atomic<std::uint32_t> state_{0};  // 0 free, 1 held, 2 held and waited for
};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.Acquire(); }
  ~LockGuard() { lock_.Release(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace memtool::capture
