// Running another program in memtool's place: its exit status becomes ours, and signals sent to us
// are passed on to it.
#pragma once

#include <string>
#include <vector>

#include "base/command.h"

namespace memtool::commands {

inline constexpr int kRunOwnFailure = 125;  // as env(1) and timeout(1)
inline constexpr int kRunCannotRun = 126;
inline constexpr int kRunNotFound = 127;
inline constexpr int kRunSignalled = 128;

// The program's exit status, kRunSignalled and the number of the signal that ended it, or one of
// the others above, after a message on `streams`. `words`: the program and its arguments, at least
// one.
int RunProgram(std::vector<std::string>& words, Streams& streams);

}  // namespace memtool::commands
