// Several recordings as one, with a base subtracted: what merging, converting
// several inputs and reports over several work on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

struct MergeInput {
  const Recording* recording = nullptr;
  int sign = 1;              // -1 subtracts
  std::string process = {};  // that wrote it, where several did (TextOfProcess)
};

// What counts as equal, and what sums do at the ends of int64; the defaults are memtool's.
struct MergeRules {
  // Mappings are equal by build id or else name, offset and size in pages; else by all four.
  bool loose_mappings = false;
  // Frames keep their columns, and those of different columns are different.
  bool columns = true;
  // Label values keep their order within a key; else labels in any order are equal.
  bool label_order = false;
  // Rows of the tables stay when a sample that is not zero needs them (and the first mapping), in
  // the order of first need. Else all stay, in the order of the inputs, and samples are sorted by
  // stack and labels.
  bool only_needed = false;
  // Samples of unknown size stay apart from others of their stack and labels.
  bool unknown_apart = true;
  // All inputs have the same sample types; else what they have in common is merged.
  bool same_types = false;
  // A time of 0 is earlier than any; else it is unknown.
  bool zero_is_time = false;
  // Sums wrap around; else none may leave the range of int64.
  bool wrap = false;
};

// Equal mappings, functions, locations (by mapping, address relative to it, and lines), stacks and
// samples (by stack and labels) become one; values add up; samples that are zero in every type
// vanish. Sample types: those that all inputs have, in the order of the first. The time is the
// earliest known, durations add up, comments are united. Errors:
// kUsage when the inputs share no sample type (same_types: not all) or when bytes of one would be
// lost for want of a counterpart; kUnsupported when one holds no samples; kLimit for a sum beyond
// int64.
Result<Recording> Merge(std::span<const MergeInput> inputs, const MergeRules& rules = {});

}  // namespace memtool
