// Which of several inputs ran out of memory, and why: a line for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oom/oom_case.h"
#include "output/report.h"

namespace memtool::commands {

struct OomInput {
  std::string path;
  // The last failure of the input; of a snapshot without one its end, of a log without a message
  // nothing.
  std::optional<OomCase> found;
  std::int64_t failures = 0;  // messages, or out-of-memory events
};

// Errors are none; the caller puts inputs and diagnostics into the report.
Report OverviewOf(const std::vector<OomInput>& inputs);

}  // namespace memtool::commands
