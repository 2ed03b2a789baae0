// Reading ahead of the one that needs it.
#pragma once

#include <future>
#include <system_error>

namespace memtool::commands {

// Runs `read` on a thread of its own if `ahead`; else, and where there is no thread to be had, when
// the result is asked for.
template <class Read>
auto StartReading(const Read& read, bool ahead) {
  if (ahead) {
    try {
      return std::async(std::launch::async, read);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): read below
    }
  }
  return std::async(std::launch::deferred, read);
}

}  // namespace memtool::commands
