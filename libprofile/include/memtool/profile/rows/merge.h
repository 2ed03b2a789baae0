// Several recordings as one, with a base taken away: what `merge`, multi-input `convert` and
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
  // samples of unknown size apart. Sums stick. All rows stay, in the order of the inputs' tables.
  kExact,
  // As pprof merges: mappings by build id or else name, offset and size in pages; no columns; label
  // values in their order within a key. Sums wrap around. Rows stay when a sample needs them (and
  // the first mapping), in the
  // order of first need: pprof's -raw shows it.
  kPprof,
};

// Equal mappings, functions, locations (by mapping, address relative to it, and lines), stacks and
// samples (by stack and labels) become one; values add up; samples that are zero in every type
// vanish. Sample types: those that all inputs have, in the order of the first. The time is the
// earliest, durations add up, comments are united. Errors: kUsage when the inputs share no sample
// type (kPprof: not all), kUnsupported when one holds no samples.
Result<Recording> Merge(std::span<const MergeInput> inputs, MergeRules rules = MergeRules::kExact);

}  // namespace memtool
