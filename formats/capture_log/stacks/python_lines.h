// Lines of Python code from the line tables that code objects carry, undecoded in the log: lnotab
// to 3.9, PEP 626 in 3.10, PEP 657 from 3.11 on.
#pragma once

#include <cstdint>

#include "capture_log/log/definitions.h"

namespace memtool::formats::capture_log {

// The line of the instruction at `position` (its byte offset + 1; 0 = not started). The first line
// of the function when the table does not say.
std::int64_t PythonLine(const CodeRow& code, std::uint64_t position);

}  // namespace memtool::formats::capture_log
