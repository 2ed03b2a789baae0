// How memtool leaks shows a series: a row per grown row, its shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/growth/growth.h"
#include "output/report.h"

namespace memtool::commands {

struct LeaksContext {
  bool bytes = true;     // what is summed
  bool frames = true;    // rows are frames, whose names are shortened
  bool history = false;  // the points are steps of one history
  bool cum = false;      // rows hold what their callees hold, so that they do not add up
  bool all = false;      // also rows that did not change
  std::optional<std::int64_t> capacity;
};

// Columns, rows, totals, notes. Inputs and the head are the caller's.
Report LeaksReport(const GrowthSeries& series, const LeaksContext& context);
// A few blocks that show how a series goes from its lowest to its highest value.
std::string Sparkline(const std::vector<std::int64_t>& series);
// JSON and tables share these words.
std::string_view KindWord(GrowthKind kind);
std::string_view DetailWord(GrowthDetail detail);

}  // namespace memtool::commands
