#include "pprof/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/rows/merge.h"
#include "pprof/measure.h"
#include "pprof/profile.h"

namespace memtool::commands::pprof {

namespace {

struct ValueType {
  std::string type;
  std::string unit;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

ValueType Named(const Recording& recording, const SampleType& type) {
  return {std::string(recording.Text(type.type)), std::string(recording.Text(type.unit))};
}

// The sample types, followed by that of the period.
std::vector<ValueType> GetTypes(const Recording& recording) {
  std::vector<ValueType> types;
  for (const SampleType& type : recording.profile->types) {
    types.push_back(Named(recording, type));
  }
  types.push_back(Named(recording, recording.metadata.period_type));
  return types;
}

bool Compatible(const ValueType& a, const ValueType& b) {
  const auto singular = [](std::string_view type) {
    return type.ends_with('s') ? type.substr(0, type.size() - 1) : type;
  };
  return singular(a.type) == singular(b.type) &&
         (a.unit == b.unit || SameUnitFamily(a.unit, b.unit));
}

// The finest unit of the types at one position.
Result<std::string> CommonUnit(const std::vector<std::vector<ValueType>>& types, std::size_t at) {
  ValueType finest = types[0][at];
  for (const auto& of_one : types) {
    const ValueType& type = of_one[at];
    if (!Compatible(finest, type)) {
      return Fail(ErrorCode::kUsage, fmt::format("incompatible types: {{{} {}}} {{{} {}}}",
                                                 finest.type, finest.unit, type.type, type.unit));
    }
    if (ConvertUnit(1, type.unit, finest.unit).value < 1) {
      finest = type;
    }
  }
  return finest.unit;
}

// One recording in other units: those of the sample types, followed by that of the period.
Result<Recording> InUnits(Recording recording, const std::vector<std::string>& units) {
  const std::vector<ValueType> types = GetTypes(recording);
  RecordingBuilder builder(std::move(recording));
  Metadata& metadata = builder.metadata();
  metadata.period = ToInt(ConvertUnit(metadata.period, types.back().unit, units.back()).value);
  metadata.period_type.unit = builder.Intern(units.back());
  std::vector<double> factors;
  for (std::size_t t = 0; t + 1 < types.size(); ++t) {
    factors.push_back(ConvertUnit(1, types[t].unit, units[t]).value);
    builder.samples().types[t].unit = builder.Intern(units[t]);
  }
  auto changed = std::move(builder).Finish();
  return changed ? ScaleValues(*std::move(changed), factors) : changed;
}

Result<void> UnifyUnits(std::vector<Recording>& recordings) {
  if (recordings.size() < 2) {
    return {};
  }
  std::vector<std::vector<ValueType>> types;
  for (const Recording& recording : recordings) {
    types.push_back(GetTypes(recording));
    if (types.back().size() != types[0].size()) {
      return Fail(ErrorCode::kUsage, fmt::format("inconsistent samples type count: {} != {}",
                                                 types[0].size() - 1, types.back().size() - 1));
    }
  }
  std::vector<std::string> units;
  for (std::size_t at = 0; at < types[0].size(); ++at) {
    auto unit = CommonUnit(types, at);
    MEMTOOL_TRY(unit);
    units.push_back(*std::move(unit));
  }
  for (Recording& recording : recordings) {
    auto changed = InUnits(std::move(recording), units);
    MEMTOOL_TRY(changed);
    recording = *std::move(changed);
  }
  return {};
}

Result<void> CheckSameTypes(const Recording& a, const Recording& b) {
  if (GetTypes(a) == GetTypes(b)) {
    return {};
  }
  const auto text = [](const Recording& recording) {
    std::string out;
    for (const SampleType& type : recording.profile->types) {
      out += fmt::format("{}{}/{}", out.empty() ? "" : " ", recording.Text(type.type),
                         recording.Text(type.unit));
    }
    return out;
  };
  return Fail(ErrorCode::kUsage,
              fmt::format("incompatible sample types [{}] and [{}]", text(a), text(b)));
}

// Drops the samples that `keep` (one per sample) says 0 for.
void Keep(Profile& profile, const std::vector<char>& keep) {
  const auto filter = [&keep](auto& column) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (keep[i] != 0) {
        column[kept++] = column[i];
      }
    }
    column.resize(kept);
  };
  filter(profile.stacks);
  filter(profile.label_sets);
  std::for_each(profile.values.begin(), profile.values.end(), filter);
  profile.unknown_size.clear();  // pprof does not know any
}

}  // namespace

Result<Recording> Combine(std::vector<Recording> recordings) {
  MEMTOOL_TRY(UnifyUnits(recordings));
  std::vector<MergeInput> inputs;
  for (const Recording& recording : recordings) {
    MEMTOOL_TRY(CheckSameTypes(recordings[0], recording));
    inputs.push_back({&recording, 1});
  }
  return Merge(inputs, {.loose_mappings = true,
                        .columns = false,
                        .label_order = true,
                        .only_needed = true,
                        .unknown_apart = false,
                        .same_types = true,
                        .zero_is_time = true,
                        .wrap = true});
}

Result<Recording> ScaleValues(Recording recording, std::span<const double> factors) {
  if (std::all_of(factors.begin(), factors.end(), [](double factor) { return factor == 1; })) {
    return recording;
  }
  RecordingBuilder builder(std::move(recording));
  Profile& profile = builder.samples();
  // A type with factor 1 does not count when deciding whether the sample is zero (pprof's rule).
  std::vector<char> keep(profile.size(), 0);
  for (std::size_t t = 0; t < factors.size(); ++t) {
    if (factors[t] == 1) {
      continue;
    }
    for (std::size_t i = 0; i < keep.size(); ++i) {
      std::int64_t& value = profile.values[t][i];
      value = ToInt(std::round(static_cast<double>(value) * factors[t]));
      keep[i] = static_cast<char>(keep[i] != 0 || value != 0);
    }
  }
  Keep(profile, keep);
  return std::move(builder).Finish();
}

Result<Recording> Normalize(Recording recording, const Recording& base) {
  MEMTOOL_TRY(CheckSameTypes(recording, base));
  const auto sum = [](std::span<const std::int64_t> column) {
    std::int64_t total = 0;
    for (const std::int64_t value : column) {
      total = WrapAdd(total, value);
    }
    return total;
  };
  std::vector<double> factors;
  for (std::size_t t = 0; t < recording.profile->types.size(); ++t) {
    const std::int64_t own = sum(recording.profile->values[t]);
    factors.push_back(own == 0 ? 0.0
                               : static_cast<double>(sum(base.profile->values[t])) /
                                     static_cast<double>(own));
  }
  return ScaleValues(std::move(recording), factors);
}

Result<Recording> SetLabel(Recording recording, std::string_view key, std::string_view value) {
  RecordingBuilder builder(std::move(recording));
  const Label added{
      .key = builder.Intern(key), .text = builder.Intern(value), .unit = StringId(0U)};
  return std::move(builder).Finish().and_then([&added](Recording named) {
    return ChangeLabels(std::move(named), [&added](std::vector<Label>& labels) {
      std::erase_if(labels, [&](const Label& l) { return !l.numeric && l.key == added.key; });
      labels.push_back(added);
    });
  });
}

}  // namespace memtool::commands::pprof
