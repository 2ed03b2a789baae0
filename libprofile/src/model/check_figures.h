// Figures that stand beside the rows, or in them, and that cannot be: a capacity below nothing,
// more asked for than was given. What cannot be is left out, or what bounds it stands in for it; a
// diagnostic of damage says so.
#pragma once

#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

// Capacities of ledgers and the peaks that their writers counted.
void CheckLedgers(History& history, std::vector<Diagnostic>& diagnostics);

// Counters of a device or a process.
void CheckCounters(std::vector<Counter>& counters, std::vector<Diagnostic>& diagnostics);

// Requested bytes beside the bytes that they became.
void CheckRequested(Profile& profile, std::vector<Diagnostic>& diagnostics);

}  // namespace memtool
