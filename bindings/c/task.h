// Work on a thread of its own, for callers that have something else to look after: Python notices
// Ctrl-C only on the thread that runs it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace memtool::c {

struct Outcome;

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
  void Reach(std::unique_ptr<Outcome> outcome);

  // The other side.
  void Abandon() { abandoned_ = true; }
  [[nodiscard]] std::uint64_t read() const { return read_; }
  // Whether the work is done; waits for that at most so long.
  bool WaitFor(std::chrono::milliseconds time);
  // Null while the work goes on, and the second time.
  std::unique_ptr<Outcome> Take();

  // How many bytes there are to read; none where only reading tells.
  std::optional<std::uint64_t> total{};
  // Whether it may wait for its input as long as the writer of that likes.
  std::atomic<bool> may_wait = false;

 private:
  std::atomic<bool> abandoned_ = false;
  std::atomic<std::uint64_t> read_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::unique_ptr<Outcome> outcome_;
};

// Begins `work`, which must own what it uses: it goes on alone when it is abandoned, until it asks
// whether it is wanted. What it throws becomes an outcome. Where there is no thread to be had the
// work is done here.
void Start(const std::shared_ptr<Task>& task, std::function<std::unique_ptr<Outcome>(Task&)> work);

}  // namespace memtool::c
