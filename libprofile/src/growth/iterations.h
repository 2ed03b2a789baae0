// Whether a history shows that its program does the same thing again and again; internal to
// growth_history.
#pragma once

#include "growth/history_steps.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

// True when live memory falls at least three times by a quarter of its range, having risen by as
// much before, and, where stacks are known, most allocations are made by stacks that allocate in
// each third of the range. A single iteration rises and falls once, and its parts (forward,
// backward, optimizer) allocate elsewhere.
bool ShowsIterations(const HistoryIndex& index, const ChosenTrace& chosen);

}  // namespace memtool
