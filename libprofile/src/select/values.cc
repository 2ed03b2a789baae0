#include "memtool/profile/select/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

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

namespace {

// Sums per stack, or per (stack, group) when label frames split stacks.
class Summer {
 public:
  Summer(const View& view, StackSums& sums)
      : view_(view), sums_(sums), dense_(view.group_count() == 1) {
    if (dense_) {
      row_of_stack_.assign(view.recording().stack_count(), kNone);
    }
  }

  void Add(const SampleValue& sample, std::int64_t amount) {
    StackSum& row = RowOf(sample.stack, view_.GroupOf(sample.labels));
    AddTo(row.value, amount, sums_.saturated);
    row.unknown = SaturatingAdd(row.unknown, sample.unknown);
  }

  void Finish() {
    std::sort(sums_.rows.begin(), sums_.rows.end(), [](const StackSum& a, const StackSum& b) {
      return std::pair(a.stack, a.group) < std::pair(b.stack, b.group);
    });
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  StackSum& RowOf(StackId stack, std::uint32_t group) {
    if (dense_) {
      return Row(row_of_stack_[stack.value()], stack, group);
    }
    const std::uint64_t key = static_cast<std::uint64_t>(stack.value()) << 32U | group;
    return Row(row_of_key_.try_emplace(key, kNone).first->second, stack, group);
  }

  StackSum& Row(std::uint32_t& row, StackId stack, std::uint32_t group) {
    if (row == kNone) {
      row = static_cast<std::uint32_t>(sums_.rows.size());
      sums_.rows.push_back({.stack = stack, .group = group});
    }
    return sums_.rows[row];
  }

  const View& view_;
  StackSums& sums_;
  bool dense_;
  std::vector<std::uint32_t> row_of_stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_key_;
};

}  // namespace

StackSums SumByStack(const View& view, const ValueChoice& choice, double scale) {
  StackSums sums;
  Summer summer(view, sums);
  ForEachSample(*view.recording().profile, choice, [&](const SampleValue& sample) {
    const std::int64_t amount = scale == 1.0 ? sample.value : Scaled(sample.value, scale);
    AddTo(sums.total_abs, Magnitude(sample.raw), sums.saturated);
    AddTo(sums.total, amount, sums.saturated);
    sums.unknown = SaturatingAdd(sums.unknown, sample.unknown);
    if (view.Keeps(sample.labels)) {
      summer.Add(sample, amount);
    }
  });
  summer.Finish();
  return sums;
}

std::vector<char> KeptStacks(const View& view, const StackSums& sums) {
  std::vector<char> kept(view.recording().stack_count(), 0);
  VisibleStack visible;
  for (const StackSum& sum : sums.rows) {
    kept[sum.stack.value()] = static_cast<char>(view.Expand(sum.stack, visible));
  }
  return kept;
}

}  // namespace memtool
