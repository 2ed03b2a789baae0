// The series of one input, as memtool timeline shows them: chosen layers, marks, charts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/history/timeline.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/moment.h"
#include "output/plot/plot.h"

namespace memtool::commands {

struct SeriesOptions {
  std::optional<By> by;  // nothing = one layer
  std::size_t top = 8;   // named layers
  MomentRange range;
  std::string device;
  std::size_t points = 0;  // 0 = every change
  bool by_time = false;
};

struct TraceSeries {
  std::size_t trace = 0;  // row of History::traces
  TraceSummary summary;
  TimelineRange range;
  Timeline timeline;
};

struct SeriesLayer {
  std::string key;   // "layer_1", "before_recording", "rest"
  std::string name;  // for people
  AllocationGroups::Name group;
  BarSegment::Style style = BarSegment::Style::kNamed;
};

struct Series {
  std::vector<SeriesLayer> layers;  // empty without --by
  std::vector<TraceSeries> traces;  // those that have events
  std::vector<std::size_t> silent;  // traces without events
};

// Errors: kUsage for a moment, a device or a grouping that the recording does not have.
Result<Series> MakeSeries(const HistoryIndex& index, const Filter& filter,
                          const SeriesOptions& options);

// Out-of-memory events and marks of a trace, within its range, by x.
std::vector<AreaMark> MarksOf(const Recording& recording, const TraceSeries& series, bool by_time);
// Layers, marks and out-of-memory events as members of an input's JSON object.
std::vector<std::pair<std::string, std::string>> SeriesJson(const Recording& recording,
                                                            const Series& series);
AreaChart MakeChart(const Recording& recording, const Series& series, bool by_time);

}  // namespace memtool::commands
