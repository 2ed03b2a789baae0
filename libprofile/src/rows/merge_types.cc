#include "rows/merge_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace memtool {

namespace {

// The sample types of one recording, which outlives this.
class TypeIndex {
 public:
  explicit TypeIndex(const Recording& recording) {
    const auto& types = recording.profile->types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string_view unit = recording.Text(types[i].unit);
      by_name_.try_emplace({recording.Text(types[i].type), unit}, i);
      const auto [at, fresh] = by_role_.try_emplace({types[i].role, unit}, i);
      if (!fresh) {
        at->second.reset();
      }
    }
  }

  // The only type of a role and unit, or nothing.
  [[nodiscard]] std::optional<std::size_t> OnlyOfRole(Role role, std::string_view unit) const {
    const auto found = by_role_.find({role, unit});
    return found == by_role_.end() ? std::nullopt : found->second;
  }

  // The position of a sample type of another recording: by its name, or as the only one of its role
  // ("space" of one writer is "inuse_space" of another).
  [[nodiscard]] std::optional<std::size_t> Find(const CommonType& wanted) const {
    const auto found = by_name_.find({wanted.name, wanted.unit});
    if (found != by_name_.end()) {
      return found->second;
    }
    return wanted.role == Role::kOther ? std::nullopt : OnlyOfRole(wanted.role, wanted.unit);
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> by_name_;
  std::map<std::pair<Role, std::string_view>, std::optional<std::size_t>> by_role_;
};

// An error when bytes of an input would be in no type of the result.
Result<void> KeepBytes(std::span<const MergeInput> inputs, std::span<const CommonType> common) {
  for (const MergeInput& input : inputs) {
    const Recording& recording = *input.recording;
    const TypeIndex index(recording);
    std::vector<bool> kept(recording.profile->types.size());
    for (const CommonType& wanted : common) {
      kept[*index.Find(wanted)] = true;
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

Result<std::vector<CommonType>> CommonTypes(std::span<const MergeInput> inputs, bool same) {
  const bool samples = std::all_of(inputs.begin(), inputs.end(), [](const MergeInput& input) {
    return input.recording->profile.has_value();
  });
  if (!samples) {
    return Fail(ErrorCode::kUnsupported, "an input holds no samples to merge");
  }
  const Recording& first = *inputs.front().recording;
  std::vector<TypeIndex> indices;
  indices.reserve(inputs.size());
  for (const MergeInput& input : inputs) {
    indices.emplace_back(*input.recording);
  }
  std::vector<CommonType> common;
  for (const SampleType& type : first.profile->types) {
    CommonType wanted{.name = std::string(first.Text(type.type)),
                      .unit = std::string(first.Text(type.unit))};
    wanted.role =
        !same && indices.front().OnlyOfRole(type.role, wanted.unit) ? type.role : Role::kOther;
    const bool everywhere =
        std::all_of(indices.begin(), indices.end(),
                    [&](const TypeIndex& index) { return index.Find(wanted).has_value(); });
    if (everywhere) {
      common.push_back(std::move(wanted));
    }
  }
  const bool all = std::all_of(inputs.begin(), inputs.end(), [&](const MergeInput& input) {
    return input.recording->profile->types.size() == common.size();
  });
  if (same ? !all : common.empty()) {
    return Fail(ErrorCode::kUsage, "the inputs share no sample type, so they cannot be merged");
  }
  if (!same) {
    MEMTOOL_TRY(KeepBytes(inputs, common));
  }
  return common;
}

std::vector<std::size_t> MakeColumns(const Recording& recording, std::span<const CommonType> common,
                                     bool same) {
  const TypeIndex index(recording);
  std::vector<std::size_t> columns;
  columns.reserve(common.size());
  for (const CommonType& wanted : common) {
    columns.push_back(same ? columns.size() : *index.Find(wanted));
  }
  return columns;
}

}  // namespace memtool
