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

// In the order of the first input: by name, or as the only type of a role and unit. What is not
// everywhere is left out unless it is bytes, which nobody wants to lose. `same`: the same types
// everywhere, by name. Errors: kUnsupported for an input without samples; kUsage when
// nothing is in common, or bytes would be lost.
Result<std::vector<CommonType>> CommonTypes(std::span<const MergeInput> inputs, bool same);

// Where each of `common` is among the types of a recording that they were made of. `same`: in the
// same place, as two of them may have one name.
std::vector<std::size_t> MakeColumns(const Recording& recording, std::span<const CommonType> common,
                                     bool same);

}  // namespace memtool
