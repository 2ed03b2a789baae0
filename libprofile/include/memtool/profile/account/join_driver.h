// A snapshot of a framework's allocator and a log of the driver's calls of the same process, read
// together: the framework's segments lie inside allocations of the driver. With those taken out,
// the log keeps what lives besides the framework (libraries, other allocators), with its call
// stacks, and no byte is counted twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/moment.h"

namespace memtool {

struct DriverJoin {
  Recording rest;            // the log without what the snapshot reports
  std::string snapshot;      // the name under which it was added
  std::int64_t found = 0;    // bytes of segments that lie in the log's allocations
  std::int64_t missing = 0;  // bytes of segments that do not
  std::uint64_t segments = 0;
  std::uint64_t missing_segments = 0;
  // To compare with `found`: the whole size of the allocations that hold a segment.
  std::int64_t holding = 0;
  // The moment of the log that matches the snapshot: the snapshot's time, or the log's own end when
  // the snapshot reports no times; of a log without them its end or its peak.
  MomentSpec moment;
};

class FrameworkSegments {
 public:
  // Keeps the segments that `snapshot` has at `moment`; of an input without any, nothing. `device`:
  // empty for all. Errors: those of GetTraces and ResolveMoment.
  Result<void> Add(std::string name, const HistoryIndex& snapshot, const MomentSpec& moment,
                   std::string_view device);
  [[nodiscard]] bool empty() const { return snapshots_.empty(); }

  // Finds the snapshot that belongs to `log` (most bytes of its segments lie in the log and cover
  // allocations of the driver; processes use the same addresses, so each snapshot is used once),
  // and leaves its segments out of the log. No result when no snapshot fits. Errors: those of
  // RecordingBuilder::Finish.
  Result<std::optional<DriverJoin>> Join(const HistoryIndex& log);

 private:
  struct Range {
    std::uint64_t address = 0;
    std::int64_t size = 0;
  };
  struct Snapshot {
    std::string name;
    std::int64_t time = kNoTime;  // unix, of the last event
    std::vector<Range> segments;
    bool used = false;
  };
  class Match;

  std::vector<Snapshot> snapshots_;
};

}  // namespace memtool
