#include "memtool/profile/select/value_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/numbers.h"

namespace memtool {

namespace {

std::string TypeNames(const Recording& recording) {
  std::string names;
  for (const SampleType& type : recording.profile->types) {
    names += (names.empty() ? "" : ", ") + std::string(recording.Text(type.type));
  }
  return names;
}

// "inuse_space" → "inuse_": what a count type must share with its bytes type.
std::string_view Family(std::string_view type) {
  const std::size_t underscore = type.find('_');
  return underscore == std::string_view::npos ? std::string_view{} : type.substr(0, underscore + 1);
}

ValueChoice Describe(const Recording& recording, std::size_t index) {
  const auto& types = recording.profile->types;
  ValueChoice choice{.type = index,
                     .role = types[index].role,
                     .name = std::string(recording.Text(types[index].type)),
                     .unit = std::string(recording.Text(types[index].unit))};
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].role == Role::kCount &&
        Family(recording.Text(types[i].type)) == Family(choice.name)) {
      choice.count_type = i;
    }
  }
  return choice;
}

std::size_t DefaultType(const Recording& recording) {
  const Profile& profile = *recording.profile;
  std::size_t best = profile.types.size() - 1;
  for (const Role role : {Role::kRequestedBytes, Role::kBytes}) {
    for (std::size_t i = 0; i < profile.types.size(); ++i) {
      best = profile.types[i].role == role ? i : best;
    }
  }
  for (std::size_t i = 0; i < profile.types.size(); ++i) {
    const bool named =
        !recording.Text(profile.default_type).empty() &&
        recording.Text(profile.types[i].type) == recording.Text(profile.default_type);
    const Role role = profile.types[i].role;
    if (named && (IsBytes(role) || role == profile.types[best].role)) {
      best = i;
      break;
    }
  }
  return best;
}

std::optional<std::size_t> TypeNamed(const Recording& recording, std::string_view wanted) {
  const auto& types = recording.profile->types;
  for (const std::string_view name :
       {wanted, wanted.starts_with("inuse_") ? wanted.substr(6) : wanted}) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (recording.Text(types[i].type) == name) {
        return i;
      }
    }
  }
  const auto number = ParseNumber<std::size_t>(wanted);
  return number && *number < types.size() ? number : std::nullopt;
}

std::optional<Error> MissingProfile(const Recording& recording) {
  if (!recording.profile) {
    return Error{.code = ErrorCode::kUnsupported, .input = {}, .message = "holds no samples"};
  }
  if (recording.profile->types.empty()) {
    return Error{.code = ErrorCode::kMalformed,
                 .input = {},
                 .field = "sample_type",
                 .message = "the profile declares no sample type"};
  }
  return std::nullopt;
}

}  // namespace

Result<ValueChoice> ChooseValue(const Recording& recording, std::string_view wanted) {
  if (auto error = MissingProfile(recording)) {
    return Fail(*std::move(error));
  }
  if (wanted.empty()) {
    return Describe(recording, DefaultType(recording));
  }
  const auto index = TypeNamed(recording, wanted);
  if (!index) {
    return Fail(ErrorCode::kUsage, fmt::format("there is no sample type '{}'", wanted),
                "sample types: " + TypeNames(recording));
  }
  return Describe(recording, *index);
}

Result<ValueChoice> MatchValue(const Recording& recording, const ValueChoice& other) {
  if (auto error = MissingProfile(recording)) {
    return Fail(*std::move(error));
  }
  const auto& types = recording.profile->types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (recording.Text(types[i].type) == other.name && types[i].role == other.role) {
      return Describe(recording, i);
    }
  }
  for (std::size_t i = types.size(); i-- > 0;) {
    if (other.role != Role::kOther && types[i].role == other.role) {
      return Describe(recording, i);
    }
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("has no sample type like '{}' ({})", other.name, other.unit),
              "sample types: " + TypeNames(recording));
}

}  // namespace memtool
