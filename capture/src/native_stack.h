// The native stack of the calling thread.
#pragma once

#include <cstdint>

namespace memtool::capture {

// Return addresses, innermost first, without the shim's own; at most `most`, which is also the
// length of `second`, room to work in. *ended_early: there was more, but no rule for it.
std::uint32_t Unwind(std::uintptr_t* addresses, std::uintptr_t* second, std::uint32_t most,
                     bool* ended_early);

}  // namespace memtool::capture
