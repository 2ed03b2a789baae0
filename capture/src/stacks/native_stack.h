// The native stack of the calling thread.
#pragma once

#include <cstdint>

namespace memtool::capture {

struct UnwindEnd {
  bool early = false;  // there was more, but no rule for it, or a rule that leads nowhere
  bool cut = false;    // there was more than was asked for
};

// Return addresses, innermost first, without the shim's own; at most `most`. Whatever the unwind
// tables say, and whatever the frames hold, nothing is read but tables and stack.
std::uint32_t Unwind(std::uintptr_t* addresses, std::uint32_t most, UnwindEnd* end);

}  // namespace memtool::capture
