// What the shim knows about the calling thread.
#pragma once

#include <cstdint>

namespace memtool::capture {

struct ThreadState {
  std::uint32_t busy;       // inside a wrapper: what the driver calls from there is not recorded
  std::uint32_t thread_id;  // of the log; 0 = not written yet
  std::uint32_t epoch;      // the log that thread_id belongs to
  std::uint32_t tag_depth;
  std::uint32_t tags[16];    // pushed tags: see record/names.h
  std::uintptr_t stack_low;  // bounds of the thread's stack; 0 = not asked yet
  std::uintptr_t stack_high;
  std::uint32_t replay;  // a wrapper replays a call that has already happened: see cupti/cupti.cc
  std::int32_t replay_status;  // the call's
  std::uint32_t inside;        // the recorder: see record/process_log.h
};

// Initial-exec, so that reading it never allocates; __thread, because it needs no initialization.
extern __thread ThreadState t_state __attribute__((tls_model("initial-exec")));

// Marks the thread as inside the shim. entered(): it was not inside before.
class Busy {
 public:
  Busy() : entered_(t_state.busy++ == 0) {}
  ~Busy() { --t_state.busy; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace memtool::capture
