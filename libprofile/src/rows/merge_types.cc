#include "rows/merge_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace memtool {

namespace {

// The only type of a role and unit, or nothing.
std::optional<std::size_t> OnlyOfRole(const Recording& recording, Role role,
                                      std::string_view unit) {
  const auto& types = recording.profile->types;
  std::optional<std::size_t> only;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].role == role && recording.Text(types[i].unit) == unit) {
      if (only) {
        return std::nullopt;
      }
      only = i;
    }
  }
  return only;
}

// The position of a sample type in another recording: by its name, or as the only one of its role
// ("space" of one writer is "inuse_space" of another).
std::optional<std::size_t> FindType(const Recording& recording, const CommonType& wanted) {
  const auto& types = recording.profile->types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (recording.Text(types[i].type) == wanted.name &&
        recording.Text(types[i].unit) == wanted.unit) {
      return i;
    }
  }
  return wanted.role == Role::kOther ? std::nullopt
                                     : OnlyOfRole(recording, wanted.role, wanted.unit);
}

// An error when bytes of an input would be in no type of the result.
Result<void> KeepBytes(std::span<const MergeInput> inputs, std::span<const CommonType> common) {
  for (const MergeInput& input : inputs) {
    const Recording& recording = *input.recording;
    std::vector<bool> kept(recording.profile->types.size());
    for (const CommonType& wanted : common) {
      kept[*FindType(recording, wanted)] = true;
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const SampleType& type = recording.profile->types[i];
      if (!kept[i] && IsBytes(type.role)) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("the bytes of sample type '{}' have no counterpart in every input, "
                                "and would be lost",
                                recording.Text(type.type)),
                    "merge inputs of one kind");
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<CommonType>> CommonTypes(std::span<const MergeInput> inputs, MergeRules rules) {
  const bool samples = std::all_of(inputs.begin(), inputs.end(), [](const MergeInput& input) {
    return input.recording->profile.has_value();
  });
  if (!samples) {
    return Fail(ErrorCode::kUnsupported, "an input holds no samples to merge");
  }
  const bool exact = rules == MergeRules::kExact;
  const Recording& first = *inputs.front().recording;
  std::vector<CommonType> common;
  for (const SampleType& type : first.profile->types) {
    CommonType wanted{.name = std::string(first.Text(type.type)),
                      .unit = std::string(first.Text(type.unit))};
    wanted.role = exact && OnlyOfRole(first, type.role, wanted.unit) ? type.role : Role::kOther;
    const bool everywhere = std::all_of(inputs.begin(), inputs.end(), [&](const MergeInput& input) {
      return FindType(*input.recording, wanted).has_value();
    });
    if (everywhere) {
      common.push_back(std::move(wanted));
    }
  }
  const bool same = std::all_of(inputs.begin(), inputs.end(), [&](const MergeInput& input) {
    return input.recording->profile->types.size() == common.size();
  });
  if (exact ? common.empty() : !same) {
    return Fail(ErrorCode::kUsage, "the inputs share no sample type, so they cannot be merged");
  }
  if (exact) {
    MEMTOOL_TRY(KeepBytes(inputs, common));
  }
  return common;
}

std::size_t ColumnOf(const Recording& recording, std::span<const CommonType> common,
                     std::size_t index, MergeRules rules) {
  return rules == MergeRules::kExact ? *FindType(recording, common[index]) : index;
}

}  // namespace memtool
