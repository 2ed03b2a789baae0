// Jobs on all processors.
#pragma once

#include <cstddef>
#include <functional>

namespace memtool::commands {

// Every job once, on as many threads as are worth it. The first exception is thrown again.
void OnThreads(std::size_t count, const std::function<void(std::size_t)>& job);

}  // namespace memtool::commands
