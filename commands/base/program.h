// The program itself: what main() does, here for those who are no program of their own on disk.
#pragma once

#include <string>

namespace memtool::commands {

// Runs a command line in this process, which belongs to it from now on: its descriptors, memory and
// signals. `folder`: where the capture library lies, when not beside the running program. Returns
// the exit code; throws nothing.
int Program(int argc, const char* const* argv, const std::string& folder = {}) noexcept;

}  // namespace memtool::commands
