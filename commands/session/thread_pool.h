// Work whose result is waited for later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace memtool::commands {

// A page has no threads, and there std::async waits for ever for one that cannot be made.
#ifdef __EMSCRIPTEN__
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

// Threads that stay for as long as there may be work: with one for each of ten thousand small
// files, two cores were no faster than one. The caller's is one of them: while it waits for a
// result it does what nobody has begun (Await), so that none waits while there is work.
class ThreadPool {
 public:
  // At most so many at a time, the caller included; threads are made as work comes. Fewer than two,
  // and where none can be had: work is done when its result is asked for.
  explicit ThreadPool(std::size_t most) : most_(kHasThreads && most > 1 ? most - 1 : 0) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Waits for what was begun; the rest is not done. Results that nobody has taken by then should be
  // gone: to tell one that it is dropped takes memory, which may be why all of this ends.
  ~ThreadPool();

  // What `work` throws is thrown by Await() or get().
  template <class Work>
  std::future<std::invoke_result_t<Work>> Submit(Work work) {
    if (!HasThread()) {
      return std::async(std::launch::deferred, std::move(work));
    }
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    Put([task] { (*task)(); });
    return task->get_future();  // last: where there was no memory for the task, none waits for it
  }

  // The result of what was submitted here.
  template <class Result>
  Result Await(std::future<Result> result) {
    while (result.wait_for(std::chrono::seconds(0)) == std::future_status::timeout && WorkOne()) {
    }
    return result.get();
  }

 private:
  bool HasThread();
  bool WorkOne();  // false: all was begun
  void Put(std::function<void()> task);
  void Run();

  std::size_t most_;
  std::vector<std::thread> threads_;
  std::mutex guard_;  // of what follows
  std::condition_variable wakes_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  bool ends_ = false;
};

}  // namespace memtool::commands
