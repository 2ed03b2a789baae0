// How live and reserved bytes developed over a history: one point per change, or the highest of
// each of N equal parts; live bytes split into layers by who allocated them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/replay/running_totals.h"

namespace memtool {

struct TimelineRange {
  std::int64_t first = -1;  // the first point is the state after this event; -1 = the base
  std::int64_t last = -1;
  // Number of parts, of each of which the highest is a point; 0 = every change is a point
  std::size_t points = 0;
  bool by_time = false;  // parts of equal time instead of equal event counts
  // After event `first`, where they are known: then what is live there is listed, and no event
  // before it is looked at.
  std::optional<Totals> at_first{};
};

struct TimelinePoint {
  std::int64_t event = -1;  // of the trace; -1 = the base
  std::int64_t time = kNoTime;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  std::int64_t lowest = 0;  // the least live bytes in the part that it is the highest of
};

struct Timeline {
  std::vector<TimelinePoint> points;  // in order of events
  // [point · layers + layer]; the layers of a point sum to its allocated bytes.
  std::vector<std::int64_t> layers;
  std::size_t layer_count = 0;

  [[nodiscard]] std::span<const std::int64_t> GetLayers(std::size_t point) const {
    return std::span(layers).subspan(point * layer_count, layer_count);
  }
};

// One replayed trace with its allocations in groups. The replay and the groups are kept by
// reference.
class TimelineMaker {
 public:
  // `reserved_base`: TraceSummary::reserved_base_bytes.
  TimelineMaker(const Recording& recording, const Trace& trace, const Replay& replay,
                const AllocationGroups& groups, std::int64_t reserved_base);

  // Per group: the most that it held at one time within the range.
  [[nodiscard]] std::vector<std::int64_t> Highest(const TimelineRange& range) const;
  // Layers: those of `chosen` groups in order, then what was allocated before the recording, then
  // the rest. No layers at all when `layered` is false. With parts, the first and the last point
  // and the highest reserved are kept in addition to the highest of each part.
  [[nodiscard]] Timeline Make(const TimelineRange& range, std::span<const std::uint32_t> chosen,
                              bool layered) const;
  // The state before the first event and after each one up to `last`, for what keeps none of them.
  // `changed`: the event changed allocated or reserved bytes. The layers of Make(); they sum to the
  // allocated bytes also without `layered`, but then say nothing else.
  using Visit = std::function<void(const TimelinePoint& point, bool changed,
                                   std::span<const std::int64_t> layers)>;
  void Walk(std::int64_t last, std::span<const std::uint32_t> chosen, bool layered,
            const Visit& visit) const;

 private:
  // The group of the allocation that an event makes or ends; kBefore, or AllocationGroups::kRest.
  [[nodiscard]] std::uint32_t GetGroup(std::uint32_t event) const;
  [[nodiscard]] std::uint32_t GroupOfStack(StackId stack) const;
  [[nodiscard]] std::uint32_t GroupOfBlock(const Block& block) const;
  template <class VisitHeld>
  void ForEachBase(VisitHeld visit) const;
  template <class VisitHeld>
  std::int64_t ForEachAtFirst(const TimelineRange& range, VisitHeld visit) const;
  void WalkFrom(const TimelineRange& range, std::span<const std::uint32_t> chosen, bool layered,
                const Visit& visit) const;

  static constexpr std::uint32_t kBefore = UINT32_MAX - 1;

  const Recording& recording_;
  const Trace& trace_;
  const Replay& replay_;
  const AllocationGroups& groups_;
  std::int64_t reserved_base_;
  std::span<const Event> events_;
};

}  // namespace memtool
