// How true the model is to a recording: its own requests under its own settings, run freely and
// compared with what the file says at every event. The model is given two things that it cannot
// compute: where a new segment came to lie, and that the driver refused one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

// Why a trace cannot be replayed at all.
enum class Obstacle : std::uint8_t {
  kNone,
  kNotPyTorch,      // its events are not those of a caching allocator
  kHostMemory,      // pinned memory has another allocator
  kNoEvents,        // only a state
  kNoState,         // only events: what was there before them is unknown
  kOtherAllocator,  // cudaMallocAsync
  kTooLarge,        // sizes that no device has: sums of them would leave the range
  kOutside,         // addresses lie in no segment that the file reports of
};
const char* ObstacleName(Obstacle obstacle);  // "no_events"

struct Difference {
  enum class Kind : std::uint8_t {
    kBase,       // reserved bytes before the first event
    kPlacement,  // expected and got: addresses
    kSegment,    // bytes of new segments during one request
    kRelease,    // bytes that were given back during one request
    kFailure,    // the model passes where the file failed, or the other way round: bytes requested
    kBlocks,     // blocks of the final state: how many of the file's there are
  };
  Kind kind = Kind::kBase;
  std::int64_t event = -1;  // of the trace; -1 = before the first
  std::uint64_t expected = 0;
  std::uint64_t got = 0;
};
const char* DifferenceName(Difference::Kind kind);  // "placement"

struct Fidelity {
  Obstacle obstacle = Obstacle::kNone;
  std::uint64_t placements = 0;
  std::uint64_t placements_equal = 0;
  std::uint64_t segments = 0;  // made or mapped
  std::uint64_t segments_equal = 0;
  std::uint64_t segments_false = 0;  // of the model alone
  std::uint64_t releases = 0;
  std::uint64_t releases_equal = 0;
  std::uint64_t releases_false = 0;
  std::uint64_t failures = 0;
  std::uint64_t failures_equal = 0;
  std::uint64_t blocks = 0;  // of the final state
  std::uint64_t blocks_equal = 0;
  std::int64_t reserved_difference = 0;  // the largest, in bytes
  std::uint64_t outside = 0;             // allocations at addresses in no known segment
  std::optional<Difference> first{};

  [[nodiscard]] bool exact() const {
    return obstacle == Obstacle::kNone && !first && placements == placements_equal;
  }
  // Below this, figures for other settings are of another program.
  [[nodiscard]] bool usable() const {
    constexpr double kUsable = 0.5;
    return obstacle == Obstacle::kNone &&
           static_cast<double>(placements_equal) >= kUsable * static_cast<double>(placements);
  }
};

// Whether a trace is one of PyTorch's caching allocator, and whole enough. Nothing else in this
// folder may be asked about a trace where this finds an obstacle.
Obstacle FindObstacle(const Recording& recording, const Trace& trace);

// The same run given only addresses, under a limit: the events of the requests that were refused
// memory, and how many of them made the allocator give everything back.
struct Refusals {
  std::vector<std::int64_t> events;
  std::uint64_t retries = 0;
};
Refusals RefusalsUnder(const HistoryIndex& index, const Trace& trace,
                       const AllocatorSettings& settings, const Requests& requests,
                       std::int64_t limit);

Fidelity ComputeFidelity(const HistoryIndex& index, const Trace& trace,
                         const AllocatorSettings& settings, const Requests& requests,
                         Rules rules = {});

}  // namespace memtool::whatif
