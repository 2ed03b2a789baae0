// How much memory the recorded process could get: no file says it, refusals and failures do.
#pragma once

#include <cstdint>
#include <optional>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

struct Limit {
  enum class From : std::uint8_t {
    kHighest,   // nothing was refused: a lower bound only
    kRefusals,  // the driver refused, and something was given back
    kFailure,   // a failure tells what the driver had left
  };
  From from = From::kHighest;
  std::int64_t low = 0;                // it is at least this,
  std::optional<std::int64_t> high{};  // and less than this; of a failure both are the figure
  std::uint64_t refusals = 0;
  std::uint64_t failures = 0;
  // Whether the model under this limit asks for memory in vain at the same events, told nothing
  // else.
  std::optional<bool> reproduced{};
  std::uint64_t retries = 0;  // of the model under this limit
};
const char* LimitSourceName(Limit::From from);  // "refusals"

Limit LimitOf(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
              const Requests& requests);

}  // namespace memtool::whatif
