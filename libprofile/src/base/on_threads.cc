#include "memtool/profile/base/on_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace memtool {

// The system's answer is read from a file.
std::size_t ProcessorCount() {
  static const std::size_t count = std::max(std::thread::hardware_concurrency(), 1U);
  return count;
}

std::vector<RowRange> SplitForThreads(std::size_t count, std::size_t min_rows) {
  std::vector<RowRange> parts(std::clamp<std::size_t>(count / min_rows, 1, ProcessorCount()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {count * i / parts.size(), count * (i + 1) / parts.size()};
  }
  return parts;
}

void OnThreads(std::size_t count, const std::function<void(std::size_t)>& job) {
  const std::size_t threads = std::min(count, ProcessorCount());
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failed;
  std::mutex guard;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        const std::lock_guard lock(guard);
        failed = failed ? failed : std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        others.emplace_back(work);
      }
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer threads will do
    }
    work();
  }
  if (failed) {
    std::rethrow_exception(failed);
  }
}

}  // namespace memtool
