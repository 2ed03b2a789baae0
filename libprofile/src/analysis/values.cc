#include "memtool/profile/analysis/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

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
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc{} && end == wanted.data() + wanted.size() && number < types.size()) {
    return number;
  }
  return std::nullopt;
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

// Adds with a note when the sum sticks.
void AddTo(std::int64_t& sum, std::int64_t value, bool& saturated) {
  if (__builtin_add_overflow(sum, value, &sum)) {
    sum = value > 0 ? std::numeric_limits<std::int64_t>::max()
                    : std::numeric_limits<std::int64_t>::min();
    saturated = true;
  }
}

}  // namespace

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  bool saturated = false;
  AddTo(a, b, saturated);
  return a;
}

std::int64_t SaturatingSubtract(std::int64_t a, std::int64_t b) {
  if (__builtin_sub_overflow(a, b, &a)) {
    return b < 0 ? std::numeric_limits<std::int64_t>::max()
                 : std::numeric_limits<std::int64_t>::min();
  }
  return a;
}

std::int64_t Magnitude(std::int64_t value) {
  return value < 0 ? SaturatingSubtract(0, value) : value;
}

std::int64_t Scaled(std::int64_t value, double factor) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  const double scaled = std::round(static_cast<double>(value) * factor);
  if (std::isnan(scaled)) {
    return 0;
  }
  if (scaled >= kEnd) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return scaled < -kEnd ? std::numeric_limits<std::int64_t>::min()
                        : static_cast<std::int64_t>(scaled);
}

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

StackSums SumByStack(const View& view, const ValueChoice& choice, double scale) {
  const Recording& recording = view.recording();
  const Profile& profile = *recording.profile;
  const auto& values = profile.values[choice.type];
  const bool bytes = choice.role == Role::kBytes && choice.count_type.has_value();

  StackSums sums;
  const std::size_t groups = view.group_count();
  const std::size_t stacks = recording.stack_count();
  // Groups are few (devices, kinds): one dense table per group beats hashing.
  std::vector<std::vector<std::int64_t>> value(groups);
  std::vector<std::vector<char>> seen(groups);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> unknown_by_row;
  auto next_unknown = profile.unknown_size.begin();
  for (std::uint32_t i = 0; i < profile.size(); ++i) {
    std::int64_t amount = values[i];
    AddTo(sums.total_abs, Magnitude(amount), sums.saturated);
    std::int64_t unknown = 0;
    if (next_unknown != profile.unknown_size.end() && *next_unknown == i) {
      ++next_unknown;
      if (bytes) {
        unknown = profile.values[*choice.count_type][i];
        amount = 0;
      }
    }
    if (scale != 1.0) {
      amount = Scaled(amount, scale);
    }
    AddTo(sums.total, amount, sums.saturated);
    sums.unknown = SaturatingAdd(sums.unknown, unknown);
    const LabelSetId labels = profile.label_sets[i];
    if (!view.Keeps(labels)) {
      continue;
    }
    const std::uint32_t group = view.GroupOf(labels);
    const std::uint32_t stack = profile.stacks[i].value();
    if (value[group].empty()) {
      value[group].resize(stacks);
      seen[group].resize(stacks);
    }
    AddTo(value[group][stack], amount, sums.saturated);
    seen[group][stack] = 1;
    if (unknown != 0) {
      std::int64_t& sum = unknown_by_row[{stack, group}];
      sum = SaturatingAdd(sum, unknown);
    }
  }
  for (std::uint32_t stack = 0; stack < stacks; ++stack) {
    for (std::uint32_t group = 0; group < groups; ++group) {
      if (!seen[group].empty() && seen[group][stack] != 0) {
        sums.rows.push_back({StackId(stack), group, value[group][stack], 0});
      }
    }
  }
  for (const auto& [key, unknown] : unknown_by_row) {
    const auto row = std::lower_bound(sums.rows.begin(), sums.rows.end(), key,
                                      [](const StackSum& sum, const auto& wanted) {
                                        return std::pair(sum.stack.value(), sum.group) < wanted;
                                      });
    row->unknown = unknown;
  }
  return sums;
}

}  // namespace memtool
