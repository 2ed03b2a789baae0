// Compiled programs as inputs: their names.
#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "options/input_options.h"

namespace memtool::commands {

bool IsProgram(const Recording& recording);

// "jit_f (module_0003)" by the names of a dump's files, else by what the file says.
std::string ProgramName(const std::string& name, const Recording& recording);

// Where the names are those of a dump's programs, that of the one that needs most; stderr says so.
// Errors: those of reading them.
Result<std::vector<std::string>> LargestProgram(std::vector<std::string> names,
                                                const InputOptions& input, Streams& streams);

}  // namespace memtool::commands
