// Work whose result is waited for later.
#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace memtool::commands {

// A page has no threads, and there std::async waits for ever for one that cannot be made.
#ifdef __EMSCRIPTEN__
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

// Runs `work` on a thread of its own if `ahead`; else, and where no thread can be had, when its
// result is asked for. What it throws is thrown by get().
template <class Work>
std::future<std::invoke_result_t<Work>> StartWork(Work work, bool ahead) {
  if (ahead && kHasThreads) {
    try {
      return std::async(std::launch::async, work);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): done below
    }
  }
  return std::async(std::launch::deferred, std::move(work));
}

}  // namespace memtool::commands
