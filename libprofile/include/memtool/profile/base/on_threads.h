// Jobs on all processors.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace memtool {

// Every job once, in any order, on as many threads as there are processors; with none to be had,
// one after the other. The first exception is thrown again.
void OnThreads(std::size_t count, const std::function<void(std::size_t)>& job);

// At least 1.
std::size_t ProcessorCount();

// Rows that one thread looks at.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// `count` rows in as many parts of equal size as there are processors, but none smaller than
// `min_rows`, which is worth a thread. One part at least.
std::vector<RowRange> SplitForThreads(std::size_t count, std::size_t min_rows);

}  // namespace memtool
