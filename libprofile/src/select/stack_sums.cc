#include "memtool/profile/select/stack_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// Sums per stack: a row for each, of which those without a kept sample are taken out at the end.
class ByStack {
 public:
  explicit ByStack(const View& view) { rows_.resize(view.recording().stack_count()); }

  StackSum& Row(const SampleValue& sample) {
    StackSum& row = rows_[sample.stack.value()];
    row.stack = sample.stack;
    return row;
  }

  RowVector<StackSum> Finish() && {
    const StackSum* const end = std::remove_if(
        rows_.begin(), rows_.end(), [](const StackSum& row) { return !row.stack.valid(); });
    rows_.resize(static_cast<std::size_t>(end - rows_.begin()));
    return std::move(rows_);
  }

 private:
  RowVector<StackSum> rows_;
};

// Sums per (stack, group): label frames split stacks.
class ByStackAndGroup {
 public:
  explicit ByStackAndGroup(std::vector<std::uint32_t> groups) : groups_(std::move(groups)) {}

  StackSum& Row(const SampleValue& sample) {
    const std::uint32_t group = groups_[sample.labels.value()];
    const std::uint64_t key = static_cast<std::uint64_t>(sample.stack.value()) << 32U | group;
    const std::uint32_t row = row_of_key_.GetOrPut(key, static_cast<std::uint32_t>(rows_.size()));
    if (row == rows_.size()) {
      rows_.push_back({.stack = sample.stack, .group = group});
    }
    return rows_[row];
  }

  RowVector<StackSum> Finish() && {
    std::sort(rows_.begin(), rows_.end(), [](const StackSum& a, const StackSum& b) {
      return std::pair(a.stack, a.group) < std::pair(b.stack, b.group);
    });
    return std::move(rows_);
  }

 private:
  std::vector<std::uint32_t> groups_;  // per label set
  RowVector<StackSum> rows_;
  RowMap row_of_key_;
};

template <class Rows>
StackSums SumInto(Rows rows, const View& view, const ValueChoice& choice, double scale) {
  StackSums sums;
  MagnitudeSum raw;
  MagnitudeSum amounts;
  MagnitudeSum unknown;
  MagnitudeSum counts;
  bool scaled_too_far = false;
  ForEachSample(*view.recording().profile, choice, [&](const SampleValue& sample) {
    const std::int64_t amount = scale == 1.0 ? sample.value : Scaled(sample.value, scale);
    raw.Add(sample.raw);
    amounts.Add(amount);
    unknown.Add(sample.unknown);
    counts.Add(sample.count);
    sums.total = SaturatingAdd(sums.total, amount);
    scaled_too_far = scaled_too_far || (scale != 1.0 && Magnitude(amount) == INT64_MAX);
    if (view.Keeps(sample.labels)) {
      StackSum& row = rows.Row(sample);
      row.value = SaturatingAdd(row.value, amount);
      row.unknown = SaturatingAdd(row.unknown, sample.unknown);
    }
  });
  sums.total_abs = raw.Clamped();
  sums.magnitude = amounts.Clamped();
  sums.unknown = unknown.Clamped();
  // No sum over some of the amounts leaves the range unless that of their magnitudes does.
  sums.saturated = scaled_too_far || !raw.Fits() || !amounts.Fits() || !unknown.Fits();
  sums.counts_saturated = !counts.Fits();
  sums.rows = std::move(rows).Finish();
  return sums;
}

// What the reader summed, where nothing is left out or scaled.
std::optional<StackSums> SumsMadeWhileReading(const View& view, const ValueChoice& choice,
                                              double scale) {
  const Profile& profile = *view.recording().profile;
  if (profile.sums.empty() || profile.sums[choice.type].of_stack.empty() ||
      !profile.sums[choice.type].magnitude.Fits() || scale != 1.0 || !view.KeepsAllLabels()) {
    return std::nullopt;
  }
  const TypeSums& all = profile.sums[choice.type];
  StackSums sums{.total_abs = all.magnitude.Clamped(), .magnitude = all.magnitude.Clamped()};
  sums.counts_saturated = choice.count_type && !profile.sums[*choice.count_type].magnitude.Fits();
  sums.rows.resize(all.of_stack.size());
  for (std::uint32_t i = 0; i < sums.rows.size(); ++i) {
    sums.rows[i] = {.stack = StackId(i), .value = all.of_stack[i]};
    sums.total = SaturatingAdd(sums.total, all.of_stack[i]);
  }
  if (choice.role == Role::kBytes) {
    MagnitudeSum unknown;
    for (const std::uint32_t i : profile.unknown_size) {
      const std::int64_t value = profile.values[choice.type][i];
      const std::int64_t count =
          choice.count_type ? profile.values[*choice.count_type][i] : std::int64_t{0};
      StackSum& row = sums.rows[profile.stacks[i].value()];
      row.value = SaturatingSubtract(row.value, value);
      row.unknown = SaturatingAdd(row.unknown, count);
      sums.total = SaturatingSubtract(sums.total, value);
      sums.magnitude = SaturatingSubtract(sums.magnitude, Magnitude(value));
      unknown.Add(count);
    }
    sums.unknown = unknown.Clamped();
    if (!unknown.Fits()) {
      return std::nullopt;
    }
  }
  return sums;
}

// Per label set: which of `names` it has.
std::vector<std::uint32_t> DevicesOfLabels(const Recording& recording,
                                           std::vector<std::string>& names) {
  std::map<std::string, std::uint32_t> known;
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    std::string name = LabelValues(recording, LabelSetId(i), "device");
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
    name.insert(0, number ? "device " : "");  // as TraceText
    const auto [at, added] =
        known.emplace(std::move(name), static_cast<std::uint32_t>(known.size()));
    if (added) {
      names.push_back(at->first);
    }
    devices.push_back(at->second);
  }
  return devices;
}

}  // namespace

StackSums SumByStack(const View& view, const ValueChoice& choice, double scale) {
  if (view.group_count() == 1) {
    auto sums = SumsMadeWhileReading(view, choice, scale);
    return sums ? *std::move(sums) : SumInto(ByStack(view), view, choice, scale);
  }
  std::vector<std::uint32_t> groups;
  for (std::uint32_t i = 0; i < view.recording().label_set_count(); ++i) {
    groups.push_back(view.GetGroup(LabelSetId(i)));
  }
  return SumInto(ByStackAndGroup(std::move(groups)), view, choice, scale);
}

std::vector<DeviceSums> SumByDevice(const View& view, const ValueChoice& choice, double scale) {
  std::vector<std::string> names;
  std::vector<std::uint32_t> devices = DevicesOfLabels(view.recording(), names);
  std::vector<DeviceSums> all(1);
  if (view.group_count() == 1) {
    const StackSums sums = SumInto(ByStackAndGroup(std::move(devices)), view, choice, scale);
    std::vector<char> seen(names.size());
    for (const StackSum& sum : sums.rows) {
      seen[sum.group] = static_cast<char>(!names[sum.group].empty());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      all.front().device = seen[i] != 0 ? names[i] : all.front().device;
    }
    if (std::count(seen.begin(), seen.end(), 1) > 1) {
      all.resize(names.size());
      for (StackSum sum : sums.rows) {
        StackSums& of_device = all[std::exchange(sum.group, 0)].sums;
        of_device.rows.push_back(sum);
      }
      for (std::size_t i = 0; i < names.size(); ++i) {
        all[i].device = names[i].empty() ? "(no device)" : names[i];
      }
      std::erase_if(all, [](const DeviceSums& device) { return device.sums.rows.empty(); });
      return all;
    }
  }
  all.front().sums = SumByStack(view, choice, scale);
  return all;
}

std::vector<char> SelectedStacks(const View& view, const StackSums& sums) {
  std::vector<char> kept(view.recording().stack_count(), 0);
  VisibleStack visible;
  for (const StackSum& sum : sums.rows) {
    kept[sum.stack.value()] = static_cast<char>(view.Expand(sum.stack, visible));
  }
  return kept;
}

}  // namespace memtool
