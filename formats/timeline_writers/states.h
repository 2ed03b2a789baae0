// The states of a trace as values of its counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/history/timeline.h"
#include "timeline_writers/export_model.h"

namespace memtool::formats {

// Hands out the states of a trace, or of each run of them the highest and the last.
class StateDrawer {
 public:
  // `shown`: the layers that are counters, after the plain ones. `reserved`: whether these are
  // three or one.
  StateDrawer(ExportSink& sink, const ExportTrace& trace, std::vector<std::size_t> shown,
              bool reserved, std::uint64_t run)
      : sink_(sink),
        trace_(trace),
        shown_(std::move(shown)),
        reserved_(reserved),
        run_(run),
        last_(trace.counters.size(), 0) {}

  void First(const TimelinePoint& point, std::span<const std::int64_t> layers, std::int64_t time) {
    Draw(ToState(point, layers, time));
  }
  void Next(const TimelinePoint& point, std::span<const std::int64_t> layers, std::int64_t time);
  // After the last one.
  void Flush();

 private:
  struct State {
    std::int64_t event = -1;
    std::int64_t time = 0;
    std::vector<std::int64_t> values;
  };

  [[nodiscard]] State ToState(const TimelinePoint& point, std::span<const std::int64_t> layers,
                              std::int64_t time) const;
  void Draw(const State& state);

  ExportSink& sink_;
  const ExportTrace& trace_;
  std::vector<std::size_t> shown_;
  bool reserved_;
  std::uint64_t run_;
  std::uint64_t in_run_ = 0;
  bool drawn_ = false;
  State highest_;
  State max_reserved_;
  State end_;
  std::vector<std::int64_t> last_;  // per counter
};

}  // namespace memtool::formats
