#include "record/fork_watch.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/pages.h"

#ifndef MADV_WIPEONFORK
#  define MADV_WIPEONFORK 18
#endif

namespace memtool::capture {

namespace {

enum : std::uint32_t { kWiped = 0, kSettled = 1, kSettling = 2 };

constexpr std::size_t kPage = 65536;  // the largest that Linux has

// The page that is cleared, or nullptr: then the process id is compared.
std::atomic<std::atomic<std::uint32_t>*> g_page{nullptr};
std::atomic<pid_t> g_pid{0};

pid_t ProcessId() {
  return static_cast<pid_t>(syscall(SYS_getpid));  // not the C library's, which may cache it
}

}  // namespace

void WatchForks() {
  g_pid.store(ProcessId(), std::memory_order_relaxed);
  void* page = MapPages(kPage);
  if (page != nullptr && madvise(page, kPage, MADV_WIPEONFORK) == 0) {
    auto* word = static_cast<std::atomic<std::uint32_t>*>(page);
    word->store(kSettled, std::memory_order_relaxed);
    g_page.store(word, std::memory_order_release);
  } else if (page != nullptr) {
    munmap(page, kPage);
  }
}

bool Forked() {
  if (const auto* page = g_page.load(std::memory_order_acquire); page != nullptr) {
    return page->load(std::memory_order_acquire) != kSettled;
  }
  const pid_t known = g_pid.load(std::memory_order_relaxed);
  return known != 0 && known != ProcessId();
}

bool SettleFork() {
  auto* page = g_page.load(std::memory_order_acquire);
  if (page == nullptr) {
    pid_t known = g_pid.load(std::memory_order_relaxed);
    const pid_t own = ProcessId();
    return known != own && g_pid.compare_exchange_strong(known, own);
  }
  std::uint32_t seen = kWiped;
  if (page->compare_exchange_strong(seen, kSettling)) {
    return true;
  }
  while (page->load(std::memory_order_acquire) == kSettling) {
    syscall(SYS_sched_yield);
  }
  return false;
}

void ForkSettled() {
  if (auto* page = g_page.load(std::memory_order_acquire); page != nullptr) {
    page->store(kSettled, std::memory_order_release);
  }
  g_pid.store(ProcessId(), std::memory_order_relaxed);
}

}  // namespace memtool::capture
