// The library's beginning and end in a process.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "base/settings.h"
#include "base/thread_state.h"
#include "record/fork_watch.h"
#include "record/recorder.h"

namespace memtool::capture {

namespace {

struct sigaction g_before;

// Sets a flag, no more; then calls the handler that the program had there before.
void OnSignal(int signal, siginfo_t* info, void* context) {
  WantSnapshot();
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  }
}

void Listen(int signal) {
  struct sigaction action {};
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  action.sa_sigaction = OnSignal;
  sigaction(signal, &action, &g_before);
}

// Before the constructors of the program itself and of what is loaded later.
__attribute__((constructor(101))) void Load() {
  StartUp();
}

// After the other destructors of this library.
__attribute__((destructor(101))) void Unload() {
  const Busy busy;
  CloseLog();
}

}  // namespace

void StartUp() {
  enum : std::uint32_t { kNot, kNow, kDone };
  static std::atomic<std::uint32_t> state{kNot};
  std::uint32_t seen = kNot;
  if (!state.compare_exchange_strong(seen, kNow)) {
    while (state.load(std::memory_order_acquire) == kNow) {
      syscall(SYS_sched_yield);
    }
    return;
  }
  ReadSettings();
  if (GetSettings().signal != 0) {
    Listen(GetSettings().signal);
  }
  WatchForks();
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  SetRecording(GetSettings().enabled);
  state.store(kDone, std::memory_order_release);
}

}  // namespace memtool::capture
