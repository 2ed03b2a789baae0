// Live and reserved bytes after any event of a trace, without a walk from its first: the totals
// after every 1,024th event are kept as far as they have been asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/replay/replay.h"

namespace memtool {

// As TraceSummary clamps them.
struct Totals {
  std::int64_t live = 0;
  std::int64_t reserved = 0;
};

class RunningTotals {
 public:
  // The replay, which is of the summary's trace, must outlive this.
  RunningTotals(const Replay& replay, const TraceSummary& summary)
      : replay_(replay), kept_{{summary.base_bytes, summary.reserved_base_bytes}} {}

  // `event`: -1 for the base.
  Totals After(std::int64_t event);

 private:
  static constexpr std::uint32_t kStride = 1024;

  const Replay& replay_;
  std::vector<Totals> kept_;  // element i: before event i * kStride
};

}  // namespace memtool
