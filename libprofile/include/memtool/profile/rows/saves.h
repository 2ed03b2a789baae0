// What a row is worth at the peak: how high the whole run's peak would be without it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// Which allocations count for a row: its own, or those of all that it calls too.
enum class SaveOf : std::uint8_t { kOwn, kWithCallees };

// Per row of frames: the sum over `moments` of each trace's peak if the row's allocations had never
// existed. Rows of other kinds (without a node, except kNoStack) get the peak itself. `view` is of
// the recording that AtMoment made; `rows` and `space` belong to the tabulator that ranked it.
std::vector<std::int64_t> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                          std::span<const MomentOfTrace> moments,
                                          std::span<const Row> rows, Granularity granularity,
                                          NodeSpace& space, SaveOf of = SaveOf::kOwn);

}  // namespace memtool
