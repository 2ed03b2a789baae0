// What an allocator's state has to be, whoever says so: blocks lie in their segment one after the
// other, segments beside each other, and the figures of a segment are those of its blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// Fills in figures that segments leave to their blocks (kSumOfBlocks), and puts what can be in the
// place of what cannot where the rest of the state stands without it: a diagnostic of damage says
// so. `offsets`: where in the input each segment is, or nothing. Errors: kMalformed where the state
// contradicts itself in what all other figures rest on.
std::optional<Error> CheckState(AllocatorState& state, std::span<const std::uint64_t> offsets,
                                std::vector<Diagnostic>& diagnostics);

}  // namespace memtool
