// Several recordings as one, with a base subtracted: what `merge`, multi-input `convert` and
// `memtool pprof` work on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

struct MergeInput {
  const Recording* recording = nullptr;
  int sign = 1;  // -1 subtracts
};

// What counts as equal, and what sums do at the ends of int64.
enum class MergeRules : std::uint8_t {
  // Mappings by name, build id, offset and size; frames with their columns; labels in any order;
  // samples of unknown size apart. No sum may leave the range of int64. All rows of the tables
  // stay, in the order of the
  // inputs; samples are sorted by stack and labels.
  kExact,
  // As pprof merges: mappings by build id or else name, offset and size in pages; no columns; label
  // values in their order within a key. Sums wrap around. Rows stay when a sample needs them (and
  // the first mapping), in the order of first need, which pprof's -raw shows.
  kPprof,
};

// Equal mappings, functions, locations (by mapping, address relative to it, and lines), stacks and
// samples (by stack and labels) become one; values add up; samples that are zero in every type
// vanish. Sample types: those that all inputs have, in the order of the first. The time is the
// earliest known (kPprof: 0 is earlier than any), durations add up, comments are united. Errors:
// kUsage when the inputs share no sample type (kPprof: not all) or when bytes of one would be lost
// for want of a counterpart; kUnsupported when one holds no samples; kLimit for a sum beyond int64
// (kExact).
Result<Recording> Merge(std::span<const MergeInput> inputs, MergeRules rules = MergeRules::kExact);

}  // namespace memtool
