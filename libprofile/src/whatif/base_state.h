// What an allocator held before the first event of a trace.
#pragma once

#include <cstdint>
#include <functional>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

struct BaseTags {
  KeyMap<std::uint64_t, std::uint32_t> of;  // by address
  std::uint32_t freed = 0;  // those below are of what is freed in the trace; the others live on
};
// Number of a private pool, by its two numbers.
using FindOwner = std::function<std::uint32_t(std::uint64_t owner, std::uint64_t id)>;
// What the numbers in requests stand for.
struct BaseNames {
  const BaseTags& tags;
  const FindOwner& owner_of;
};
// Fills the base of `requests`.
void LayOutBase(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
                const Rules& rules, const BaseNames& names, Requests& requests);

}  // namespace memtool::whatif
