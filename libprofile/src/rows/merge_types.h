// Which sample types recordings that are merged have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/merge.h"

namespace memtool {

// A sample type of the first input, to be found in the others.
struct CommonType {
  std::string name;
  std::string unit;
  Role role = Role::kOther;  // kOther: found by its name only
};

// In the order of the first input. kExact matches by name, or as the only type of a role and unit,
// and leaves out what is not everywhere unless it is bytes, which nobody wants to lose; kPprof
// wants the same types everywhere. Errors: kUnsupported for an input without samples; kUsage when
// nothing is in common, or bytes would be lost.
Result<std::vector<CommonType>> CommonTypes(std::span<const MergeInput> inputs, MergeRules rules);

// Where each of `common` is among the types of a recording that they were made of. pprof's types
// are the same everywhere, and two of them may have one name.
std::vector<std::size_t> ColumnsOf(const Recording& recording, std::span<const CommonType> common,
                                   MergeRules rules);

}  // namespace memtool
