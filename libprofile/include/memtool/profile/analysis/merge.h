// Several recordings as one, with a base taken away: what `merge` and multi-input `convert` write.
#pragma once

#include <span>
#include <string_view>

#include "memtool/profile/recording.h"
#include "memtool/profile/result.h"

namespace memtool {

struct MergeInput {
  const Recording* recording = nullptr;
  int sign = 1;  // -1 subtracts
};

// Equal mappings, functions, locations (by mapping, address relative to it, and lines), stacks and
// samples (by stack and labels) become one; values add up; samples that end at zero in every type
// vanish. Sample types: those that all inputs have, in the order of the first. The time is the
// earliest, durations add up, comments are united. Errors: kUsage when the inputs share no sample
// type, kUnsupported when one holds no samples.
Result<Recording> Merge(std::span<const MergeInput> inputs);

}  // namespace memtool
