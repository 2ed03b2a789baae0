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

// Whether all names are those of a dump's programs.
bool AreDumped(const std::vector<std::string>& names);

// "jit_f (module_0003)" by the names of a dump's files, else by what the file says.
std::string ProgramName(const std::string& name, const Recording& recording);

// Where the names are those of a dump's programs, that of the one that needs most; stderr says so.
// Errors: those of reading them.
Result<std::vector<std::string>> LargestProgram(std::vector<std::string> names,
                                                const InputOptions& input, Streams& streams);

// The inputs of a command and those that it subtracts from them.
struct Sides {
  std::vector<std::string> names;
  std::vector<std::string> bases;

  [[nodiscard]] std::vector<std::string> BasesFirst() const;
};
// `bases`: as given. With bases, and where `one` is set always, each side is one program of a dump:
// see LargestProgram. Errors: those of InputOptions::Names and of LargestProgram.
Result<Sides> GetSides(const InputOptions& input, const std::vector<std::string>& bases, bool one,
                       Streams& streams);

}  // namespace memtool::commands
