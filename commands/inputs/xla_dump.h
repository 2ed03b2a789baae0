// A folder that --xla_dump_to filled as an input, or a glob of its files: of each compiled program
// the file that says most about its memory. XLA writes a dozen files for each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// The names with those of one program's dump ("module_0003.jit_f.…") replaced by the best of them:
// of the program after optimizations its buffers with their times, else its buffers, else the
// report. Other names stay, a dump's other files are left out.
std::vector<std::string> BestOfDump(const std::vector<std::string>& names);

// The names in `files` of `folder` that BestOfDump chooses, as paths; empty where it is no dump.
std::vector<std::string> FindPrograms(const std::string& folder,
                                      const std::vector<std::string>& files);

// What a program of a dump is called in rows: "jit_f (module_0003)"; the name itself where it is
// not named like one.
std::string DumpedProgram(const std::string& path);

}  // namespace memtool::commands
