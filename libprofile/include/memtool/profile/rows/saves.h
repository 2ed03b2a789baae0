// What a row is worth at the peak: how high the whole run's peak would be without it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// How high the peaks would be if a row's allocations had never existed. None where that is not
// known: the row has parts of an allocation (Breakdown), which may be as large without them.
struct PeakWithoutRow {
  std::optional<std::int64_t> own = 0;           // those that the row itself made
  std::optional<std::int64_t> with_callees = 0;  // and those of all that it calls
};

// Rows as a tabulator ranked them; `space` is the tabulator's.
struct RankedRows {
  std::span<const Row> rows;
  Granularity granularity;
  NodeSpace* space;
  bool with_callees = true;  // else PeakWithoutRow::with_callees is none
};

// Per row of frames: the sum over `moments` of each trace's peak. Rows of other kinds (no node,
// unless "(no stack)") get the peak itself. `view` is of the recording that AtMoment made.
std::vector<PeakWithoutRow> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                            std::span<const MomentOfTrace> moments,
                                            const RankedRows& ranked);

}  // namespace memtool
