// The size in question when free memory is called fragmented: the request that failed, or where
// none did the largest that the recording shows of the pool. A pool serves requests of one device,
// stream and size class (small or large blocks); one that fits into no gap of its pool, of which
// the program makes some, is what makes a gap useless.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

// Blocks up to this many bytes come from segments for small ones.
inline constexpr std::int64_t kLargestSmall = std::int64_t{1} << 20U;

// The failed allocation that a trace stands at after event `last`; null when it is none.
const Event* FailedAt(const Recording& recording, const Trace& trace, std::int64_t last);

class RequestSizes {
 public:
  // Of `trace`: all its allocations and frees, and the blocks that live at the end of the file. At
  // event `last`, when that is a failed allocation, its size for its own pool.
  RequestSizes(const Recording& recording, const Trace& trace, std::int64_t last);

  // In bytes; 0 where nothing was ever asked of the pool.
  [[nodiscard]] std::int64_t Of(const Segment& segment) const;

 private:
  struct Pool {
    std::uint16_t stream = 0;
    bool small = false;
    auto operator<=>(const Pool&) const = default;  // NOLINT(modernize-use-nullptr): false alarm
  };
  std::map<Pool, std::int64_t> largest_;
};

struct SegmentUse {
  FreeMemory gives;
  std::int64_t request = 0;  // the size in question
};
// What the free memory of each segment of `at` is good for, in their order: the one place that
// says what is fragmented. `at` is StateAt(…, trace, last).
std::vector<SegmentUse> UseOfEach(const StateAtMoment& at, const Recording& recording,
                                  const Trace& trace, std::int64_t last);

}  // namespace memtool
