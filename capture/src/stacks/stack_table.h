// Ids of stacks in the log: each frame, code object and stack is written once, when it is first
// seen. The caller holds the log's lock.
#pragma once

#include <cstdint>

#include "log/sink.h"
#include "stacks/captured_stack.h"

namespace memtool::capture {

// The id of the stack, 0 for none. Writes what the log does not define yet; *folded when a table
// was full, or there was no buffer, and the stack was cut or left out.
std::uint32_t InternStack(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded);

// In a forked child: the new log defines everything anew.
void ForgetStacks();

}  // namespace memtool::capture
