// Loading and unloading of the library, and fork.
#include <pthread.h>

#include <csignal>

#include "base.h"
#include "process.h"
#include "recorder.h"
#include "settings.h"

namespace memtool::capture {

namespace {

struct sigaction g_before;

// Sets a flag, no more; then what the program had there before.
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

// Before other libraries' constructors may allocate.
__attribute__((constructor(101))) void Load() {
  ReadSettings();
  SetRecording(GetSettings().enabled);
  if (GetSettings().signal != 0) {
    Listen(GetSettings().signal);
  }
  WatchForks();
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
}

__attribute__((destructor)) void Unload() {
  const Busy busy;
  CloseLog();
}

}  // namespace

}  // namespace memtool::capture
