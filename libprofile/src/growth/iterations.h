// Whether a history shows that its program does the same thing again and again; inside of
// growth_history.
#pragma once

#include "growth/history_steps.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

// At least three times live memory falls by a quarter of its range, having risen by as much before,
// and where stacks are known, most allocations are made by stacks that allocate in each third of
// the range. A single iteration rises and falls once, and its parts (forward, backward, optimizer)
// allocate elsewhere.
bool ShowsIterations(const HistoryIndex& index, const ChosenTrace& chosen);

}  // namespace memtool
