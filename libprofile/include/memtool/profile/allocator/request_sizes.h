// The request size that decides which free memory counts as fragmented: that of the request that
// failed, or, where none did, of the largest that the recording shows for the pool. A pool serves
// requests of one device, stream and size class (small or large blocks); a gap is useless when
// requests that the program really makes do not fit in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

// Blocks up to this many bytes come from segments for small ones.
inline constexpr std::int64_t kMaxSmallBlock = std::int64_t{1} << 20U;

// The failed allocation, if event `last` of the trace is one; else null.
const Event* FailedAt(const Recording& recording, const Trace& trace, std::int64_t last);

class RequestSizes {
 public:
  // Considers all allocations and frees of `trace` and the blocks live at the end of the file. When
  // event `last` is a failed allocation, its size counts for its pool instead.
  RequestSizes(const Recording& recording, const Trace& trace, std::int64_t last);

  // In bytes; 0 where nothing was ever requested from the pool.
  [[nodiscard]] std::int64_t Of(const Segment& segment) const;

 private:
  static std::size_t PoolOf(std::uint16_t stream, bool small) {
    return std::size_t{stream} * 2 + (small ? 1 : 0);
  }

  std::vector<std::int64_t> largest_;  // per pool
};

struct SegmentUse {
  FreeMemory gives;
  std::int64_t request = 0;  // the size in question
};
// Classifies the free memory of each segment of `at`, in order. The only place that decides what is
// fragmented. `at` is StateAt(…, trace, last).
std::vector<SegmentUse> UseOfEach(const StateAtMoment& at, const Recording& recording,
                                  const Trace& trace, std::int64_t last);

}  // namespace memtool
