// When the values of a compiled program are in use, as XLA's text dumps say it ("HloLiveRange"), as
// heap traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlo/hlo_program.h"

namespace memtool::formats::hlo {

// From the instruction that makes a value to the last that reads it, both included.
struct LiveRange {
  std::size_t buffer = kNone;  // index into HloProgram::buffers
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Adds a trace per colour for the temporary allocations all of whose buffers have a range.
void AddTraces(HloProgram& program, std::vector<LiveRange> ranges);

}  // namespace memtool::formats::hlo
