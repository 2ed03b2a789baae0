// Work on a thread of its own: Python notices Ctrl-C only on the thread that runs it, and that one
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace memtool::python {

// Ends work that nobody waits for any more. Not a std::exception: nothing on its way catches it.
struct Abandoned {};

// What the work and whoever waits for it share.
class Task {
 public:
  // The work's side. Both throw Abandoned.
  void CheckWanted() const {
    if (abandoned_) {
      throw Abandoned{};
    }
  }
  void CountRead(std::uint64_t bytes) {
    CheckWanted();
    read_ += bytes;
  }

  // The other side.
  void Abandon() { abandoned_ = true; }
  [[nodiscard]] std::uint64_t read() const { return read_; }

  // Whether it may wait for its input as long as the writer of that likes.
  std::atomic<bool> may_wait = false;

 private:
  std::atomic<bool> abandoned_ = false;
  std::atomic<std::uint64_t> read_ = 0;
};

// Runs `work` without the interpreter's lock and returns when it is done; throws what it throws.
// Meanwhile Python's signals are handled and `on_progress` is called, with the lock: what one of
// them throws is thrown here at once, and `work` goes on alone until it asks whether it is wanted.
// So it must own what it uses.
void RunTask(std::function<void(Task&)> work, const std::function<void(const Task&)>& on_progress);

// When the process ends: gives what goes on alone a moment to stop, before the objects are
// destroyed that it may be using.
void StopTasks();

}  // namespace memtool::python
