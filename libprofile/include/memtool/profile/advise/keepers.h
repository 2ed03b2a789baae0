// Whose calls keep memory of a forward pass for its backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/replay/history_index.h"

namespace memtool {

struct ForwardKeeper {
  std::string function;
  std::string file;  // of the call
  std::int64_t line = 0;
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;  // of all calls
};

// As changes of the program would find them, those that keep most first; empty where requests
// cannot be replayed.
std::vector<ForwardKeeper> FindForwardKeepers(const HistoryIndex& index, const Trace& trace,
                                              std::size_t most);

}  // namespace memtool
