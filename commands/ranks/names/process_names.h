// Names for the processes that wrote several inputs: their devices are not the same ones, though
// each calls its first one "cuda:0".
#pragma once

#include <string>
#include <vector>

namespace memtool::commands {

// Per path what distinguishes it: its last part, or all of it where last parts repeat. Empty where
// the names do not tell processes apart: files of one process, one after the other, share devices.
std::vector<std::string> NamesOfProcesses(const std::vector<std::string>& paths);

}  // namespace memtool::commands
