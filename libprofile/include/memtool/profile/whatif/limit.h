// The memory limit of the recorded process. No file records it; it is inferred from the driver's
// refusals and from failed allocations.
#pragma once

#include <cstdint>
#include <optional>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

struct Limit {
  enum class From : std::uint8_t {
    kHighest,   // no refusal: only a lower bound is known
    kRefusals,  // from refusals after which memory was released
    kFailure,   // from the free memory reported by a failed allocation
    kOwn,       // from a failed allocation for which the driver had room
  };
  From from = From::kHighest;
  std::int64_t low = 0;                // it is at least this,
  std::optional<std::int64_t> high{};  // and less than this; of kFailure both are the figure
  std::uint64_t refusals = 0;
  // Whether the model, given only this limit, is refused memory at the same events.
  std::optional<bool> reproduced{};
  std::uint64_t retries = 0;  // of the model under this limit
};
const char* LimitSourceName(Limit::From from);  // "refusals"

Limit ComputeLimit(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
                   const Requests& requests);

}  // namespace memtool::whatif
