// Loading and unloading of the library, and fork.
#include <pthread.h>

#include "base.h"
#include "recorder.h"
#include "settings.h"

namespace memtool::capture {

namespace {

// Before other libraries' constructors may allocate.
__attribute__((constructor(101))) void Load() {
  ReadSettings();
  SetRecording(GetSettings().enabled);
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
}

__attribute__((destructor)) void Unload() {
  const Busy busy;
  CloseLog();
}

}  // namespace

}  // namespace memtool::capture
