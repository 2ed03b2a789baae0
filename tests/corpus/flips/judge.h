// What an answer to a damaged file may be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/command_lines.h"

namespace memtool::flips {

using Line = fuzz::CommandLine;

// One run of a command line.
struct Outcome {
  int code = 0;
  std::string errors;        // what went to standard error
  double seconds = 0;        // of the processor
  std::size_t grown_kb = 0;  // by how much the peak of memory rose
};

// What is wrong with it, without numbers, so that like faults are counted together; empty when
// nothing is.
std::string FindFault(const Line& line, const Outcome& outcome);

}  // namespace memtool::flips
