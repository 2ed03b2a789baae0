#include "memtool/profile/replay/running_totals.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

Totals RunningTotals::After(std::int64_t event) {
  const auto end = static_cast<std::uint32_t>(event + 1);
  auto at = std::min(end / kStride, static_cast<std::uint32_t>(kept_.size() - 1)) * kStride;
  Totals now = kept_[at / kStride];
  for (; at < end; ++at) {
    now.live = RunningAdd(now.live, replay_.ChangeAt(at));
    now.reserved = RunningAdd(now.reserved, ReservedChange(replay_.events()[at]));
    if ((at + 1) % kStride == 0 && (at + 1) / kStride == kept_.size()) {
      kept_.push_back(now);
    }
  }
  return now;
}

}  // namespace memtool
