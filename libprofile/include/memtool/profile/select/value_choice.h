// Which numbers of a profile an analysis sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// One sample type of one recording.
struct ValueChoice {
  std::size_t type = 0;                   // index into Profile::types
  std::optional<std::size_t> count_type;  // the allocations that belong to it, when there are any
  Role role = Role::kOther;
  std::string name;  // "space"
  std::string unit;  // "bytes"
};

// `wanted`: a type's name, its number from 0, or empty for the default: the file's own default when
// that is bytes or of the role of the type that follows here, else the last type in bytes, else in
// requested bytes, else the last. "inuse_X" also finds "X" (pprof's rule). Errors: kUsage, naming
// the types there are; kUnsupported when there is no profile, kMalformed when it has no type.
Result<ValueChoice> ChooseValue(const Recording& recording, std::string_view wanted);
// The type of `recording` that fits a choice made on another input: same name and role, else same
// role. Errors: those of ChooseValue.
Result<ValueChoice> MatchValue(const Recording& recording, const ValueChoice& other);

// One sample as analyses count it.
struct SampleValue {
  StackId stack;
  LabelSetId labels;
  std::int64_t value = 0;    // 0 when the size is unknown
  std::int64_t raw = 0;      // as the file has it
  std::int64_t unknown = 0;  // allocations of unknown size
  std::int64_t count = 0;    // allocations; 0 when the input does not count
};

// Calls visit(SampleValue) for every sample, in order.
template <class Visit>
void ForEachSample(const Profile& profile, const ValueChoice& choice, Visit visit) {
  const auto& values = profile.values[choice.type];
  const RowVector<std::int64_t>* counts =
      choice.count_type ? &profile.values[*choice.count_type] : nullptr;
  auto next_unknown = profile.unknown_size.begin();
  for (std::uint32_t i = 0; i < profile.size(); ++i) {
    SampleValue sample{.stack = profile.stacks[i],
                       .labels = profile.label_sets[i],
                       .value = values[i],
                       .raw = values[i],
                       .count = counts != nullptr ? (*counts)[i] : 0};
    if (next_unknown != profile.unknown_size.end() && *next_unknown == i) {
      ++next_unknown;
      if (choice.role == Role::kBytes) {
        sample.value = 0;
        sample.unknown = sample.count;
      }
    }
    visit(sample);
  }
}

}  // namespace memtool
