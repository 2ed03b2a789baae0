#include "memtool/profile/select/stack_sums.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

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
    row.value = SaturatingAdd(row.value, amount);
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
      summer.Add(sample, amount);
    }
  });
  sums.total_abs = raw.Clamped();
  sums.magnitude = amounts.Clamped();
  sums.unknown = unknown.Clamped();
  // No sum over some of the amounts leaves the range unless that of their magnitudes does.
  sums.saturated = scaled_too_far || !raw.Fits() || !amounts.Fits() || !unknown.Fits();
  sums.counts_saturated = !counts.Fits();
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
