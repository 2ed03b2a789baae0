// The native stack of the calling thread.
#pragma once

#include <cstdint>

namespace memtool::capture {

struct UnwindEnd {
  bool early = false;  // there was more, but no rule for it
  bool cut = false;    // there was more than was asked for
};

// Return addresses, innermost first, without the shim's own; at most `most`, which is also the
// length of `second`, room to work in.
std::uint32_t Unwind(std::uintptr_t* addresses, std::uintptr_t* second, std::uint32_t most,
                     UnwindEnd* end);

}  // namespace memtool::capture
