#include "memtool/profile/growth/growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/growth/row_parts.h"
#include "memtool/profile/growth/trend.h"

namespace memtool {

namespace {

__extension__ using Int128 = __int128;

std::int64_t Clamp(Int128 value) {
  constexpr Int128 kLow = INT64_MIN;
  constexpr Int128 kHigh = INT64_MAX;
  return static_cast<std::int64_t>(std::clamp(value, kLow, kHigh));
}

// Rounded to the nearest, halves away from zero; `divisor` > 0.
std::int64_t Quotient(Int128 value, Int128 divisor) {
  const Int128 half = value < 0 ? -divisor : divisor;
  return Clamp((2 * value + half) / (2 * divisor));
}

// Twice the covariance sum with x = 0 … n-1: the mean of x is half a number, 2x - (n-1) is whole.
// Below 2^104 for kMaxPoints points.
Int128 Moment(std::span<const std::int64_t> series) {
  const auto n = static_cast<Int128>(series.size());
  Int128 sum = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    sum += (2 * static_cast<Int128>(i) - (n - 1)) * series[i];
  }
  return sum;
}

// Σ(2x - (n-1))² = n(n² - 1) / 3.
Int128 SpreadOfSteps(std::size_t points) {
  const auto n = static_cast<Int128>(points);
  return n * (n * n - 1) / 3;
}

double ComputeFit(std::span<const std::int64_t> series, Int128 moment) {
  // From the first value, so that a small change of a large value keeps its digits.
  const auto from_first = [&series](std::int64_t value) {
    return static_cast<double>(static_cast<Int128>(value) - series.front());
  };
  double mean = 0;
  for (const std::int64_t value : series) {
    mean += from_first(value) / static_cast<double>(series.size());
  }
  double variance = 0;
  for (const std::int64_t value : series) {
    const double off = from_first(value) - mean;
    variance += off * off;
  }
  const auto covariance = static_cast<double>(moment);
  const double fit =
      covariance / static_cast<double>(SpreadOfSteps(series.size())) * covariance / variance;
  return std::round(std::clamp(fit, 0.0, 1.0) * 1e6) / 1e6;
}

// The increments of a series, one after the other.
struct Steps {
  Growth growth;
  bool early = false;      // something was added in the first third or half
  bool late = false;       // in the last
  bool never_less = true;  // than the step before
  bool never_more = true;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;

  explicit Steps(std::span<const std::int64_t> series) {
    growth.first = series.front();
    growth.last = series.back();
    growth.steps = series.size() - 1;
    growth.even_acceleration = growth.steps > 1;
    const std::size_t part = growth.steps / (growth.steps < 6 ? 2 : 3);
    std::int64_t first_acceleration = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
      const std::int64_t step = SaturatingSubtract(series[i], series[i - 1]);
      growth.grew += step > 0 ? 1 : 0;
      growth.shrank += step < 0 ? 1 : 0;
      early = early || (step > 0 && i <= std::max<std::size_t>(part, 1));
      late = late || (step > 0 && i + part > growth.steps);
      if (i == 1) {
        first_step = growth.min_step = growth.max_step = step;
      } else {
        const std::int64_t acceleration = SaturatingSubtract(step, last_step);
        first_acceleration = i == 2 ? acceleration : first_acceleration;
        growth.even_acceleration = growth.even_acceleration && acceleration == first_acceleration;
        never_less = never_less && acceleration >= 0;
        never_more = never_more && acceleration <= 0;
        growth.min_step = std::min(growth.min_step, step);
        growth.max_step = std::max(growth.max_step, step);
      }
      last_step = step;
    }
    if (growth.steps > 1) {
      growth.acceleration = Quotient(static_cast<Int128>(last_step) - first_step,
                                     static_cast<Int128>(growth.steps) - 1);
    }
    growth.last_step = last_step;
  }
};

// Where growth with ever smaller steps ends, if the steps continue to shrink as they do.
std::optional<std::int64_t> ComputeLimit(std::span<const std::int64_t> series) {
  const auto step = [series](std::size_t i) {
    return static_cast<double>(SaturatingSubtract(series[i], series[i - 1]));
  };
  double most = 0;
  double before = 1;
  for (std::size_t i = 2; i < series.size(); ++i) {
    const double share = step(i) / step(i - 1);
    if (i > 2 && share > before * 1.01) {
      return std::nullopt;  // they shrink ever more slowly
    }
    most = std::max(most, share);
    before = share;
  }
  if (most > 0.99) {
    return std::nullopt;
  }
  const double more = std::ceil(step(series.size() - 1) * most / (1 - most));
  return more < 9e18 ? SaturatingAdd(series.back(), static_cast<std::int64_t>(more)) : INT64_MAX;
}

std::size_t LastRise(std::span<const std::int64_t> series) {
  std::size_t step = series.size() - 1;
  while (step > 0 && series[step] <= series[step - 1]) {
    --step;
  }
  return step;
}

GrowthDetail ComputePace(const Steps& steps) {
  const Growth& growth = steps.growth;
  const Int128 spread = static_cast<Int128>(growth.max_step) - growth.min_step;
  const Int128 all = static_cast<Int128>(growth.last) - growth.first;
  if (spread * 10 * static_cast<Int128>(growth.steps) <= all) {
    return GrowthDetail::kEven;
  }
  // Two increments always differ one way or the other.
  const bool accelerations = growth.steps > 2;
  return accelerations && steps.never_less   ? GrowthDetail::kAccelerating
         : accelerations && steps.never_more ? GrowthDetail::kSlowing
                                             : GrowthDetail::kUneven;
}

GrowthKind GetKind(const Growth& growth) {
  if (growth.grew > 0 && growth.shrank > 0) {
    return GrowthKind::kNoisy;
  }
  if (growth.shrank > 0) {
    return GrowthKind::kShrinking;
  }
  if (growth.grew == 0) {
    return GrowthKind::kConstant;
  }
  // One step shows a difference, not a trend.
  return growth.grew == growth.steps && growth.steps > 1 ? GrowthKind::kSteady
                                                         : GrowthKind::kStepwise;
}

GrowthDetail MakeDetail(const Steps& steps) {
  const Growth& growth = steps.growth;
  switch (growth.kind) {
    case GrowthKind::kSteady:
      return ComputePace(steps);
    case GrowthKind::kStepwise:
      return growth.grew == 1 ? GrowthDetail::kOnce
             : !steps.late    ? GrowthDetail::kStopped
             : !steps.early   ? GrowthDetail::kLate
                              : GrowthDetail::kRepeated;
    case GrowthKind::kNoisy:
      return GrowthDetail::kLevel;  // without a trend
    case GrowthKind::kConstant:
    case GrowthKind::kShrinking:
      break;
  }
  return GrowthDetail::kNone;
}

// Whether noise rises. Sets `chance`: the share of series without a trend that rise as much.
bool Rises(std::span<const std::int64_t> series, std::int64_t slope, double& chance) {
  const std::size_t cycle = FindCycle(series);
  chance = ChanceOfRise(series, cycle);
  if (slope <= 0 || chance > kPerhaps || !LowsRise(series, slope)) {
    return false;
  }
  return cycle > 1 || ChanceOfRise(series, (series.size() + 1) / 2) <= kHalves;
}

// Fills detail and chance of a noisy series.
void FindTrend(std::span<const std::int64_t> series, Growth& growth) {
  if (Rises(series, growth.slope, growth.chance)) {
    growth.detail = GrowthDetail::kRising;
    return;
  }
  // The other way round: values are mirrored, and with them their lowest points. ~x = -x - 1 cannot
  // overflow.
  std::vector<std::int64_t> mirrored(series.begin(), series.end());
  std::transform(mirrored.begin(), mirrored.end(), mirrored.begin(), std::bit_not<>());
  double chance = 1;
  if (growth.slope < 0 && Rises(mirrored, SaturatingSubtract(0, growth.slope), chance)) {
    growth.detail = GrowthDetail::kFalling;
  }
}

// `rows`: how many rows rise and fall, this one included.
GrowthEvidence MakeEvidence(const Growth& growth, const std::optional<Retained>& retained,
                            std::size_t rows) {
  const bool noisy = growth.detail == GrowthDetail::kRising;
  if (growth.kind != GrowthKind::kSteady && growth.detail != GrowthDetail::kRepeated && !noisy) {
    return GrowthEvidence::kNone;
  }
  if (retained && retained->steps == 0) {
    return GrowthEvidence::kFreed;
  }
  const bool keeps = noisy && retained && retained->recurring();
  const double of_all = growth.chance * static_cast<double>(std::max<std::size_t>(rows, 1));
  if (growth.chance <= (keeps ? kPerhaps : kSure) && of_all <= kSureOfAll &&
      growth.grew >= kMinRises) {
    return GrowthEvidence::kStrong;
  }
  return noisy && of_all > kPerhapsOfAll ? GrowthEvidence::kNone : GrowthEvidence::kWeak;
}

// Of many rows that rise and fall, some rise by chance.
void WeighByRows(GrowthSeries& series) {
  const auto keeps = [](const GrowthRow& row) { return row.retained && row.retained->recurring(); };
  std::size_t noisy_keeps = 0;
  for (const GrowthRow& row : series.rows) {
    const bool noisy = row.growth.kind == GrowthKind::kNoisy;
    series.noisy += noisy ? 1 : 0;
    noisy_keeps += noisy && keeps(row) ? 1 : 0;
  }
  for (GrowthRow& row : series.rows) {
    const std::size_t others = keeps(row) ? noisy_keeps : series.noisy - noisy_keeps;
    const std::size_t itself = row.growth.kind == GrowthKind::kNoisy ? 0 : 1;
    row.growth.evidence = MakeEvidence(row.growth, row.retained, others + itself);
  }
}

// What the rows keep together. `device`: without those that only others move; empty = of all.
std::optional<Retained> KeptByRows(std::span<const GrowthRow> rows, std::string_view device) {
  std::optional<Retained> all;
  for (const GrowthRow& row : rows) {
    const bool others = !device.empty() && !row.device.empty() && row.device != device;
    if (row.retained && !others) {
      all = all.value_or(Retained{});
      all->bytes = SaturatingAdd(all->bytes, row.retained->bytes);
      all->steps = std::max(all->steps, row.retained->steps);
      all->early_steps = std::max(all->early_steps, row.retained->early_steps);
    }
  }
  return all;
}

// What a reader should see first.
int GetRank(const Growth& growth) {
  if (growth.is_trend()) {
    return growth.kind == GrowthKind::kSteady ? 0 : 1;
  }
  if (growth.evidence == GrowthEvidence::kWeak) {
    return growth.kind == GrowthKind::kSteady ? 2 : 3;
  }
  switch (growth.kind) {
    case GrowthKind::kSteady:
    case GrowthKind::kStepwise:
      return 4;
    case GrowthKind::kNoisy:
      return 5;
    case GrowthKind::kShrinking:
      return 6;
    case GrowthKind::kConstant:
      break;
  }
  return 7;
}

bool Before(const GrowthRow& a, const GrowthRow& b) {
  const auto figures = [](const GrowthRow& row) {
    return std::tuple(GetRank(row.growth), ~Magnitude(row.growth.slope),
                      ~Magnitude(row.growth.delta()), ~Magnitude(row.growth.last));
  };
  const auto first = figures(a);
  const auto second = figures(b);
  if (first != second) {
    return first < second;
  }
  if (const int order = SharedText::CompareHeads(a.name, b.name); order != 0) {
    return order < 0;
  }
  const auto place = [](const GrowthRow& row) {
    return std::tuple(row.file, row.line, row.device);
  };
  return place(a) < place(b);
}

}  // namespace

Growth JudgeGrowth(std::span<const std::int64_t> series, const std::optional<Retained>& retained) {
  Steps steps(series);
  Growth& growth = steps.growth;
  growth.kind = GetKind(growth);
  if (growth.kind != GrowthKind::kConstant) {
    const Int128 moment = Moment(series);
    growth.slope = Quotient(2 * moment, SpreadOfSteps(series.size()));
    if (growth.steps > 1) {
      growth.fit = growth.min_step == growth.max_step ? 1.0 : ComputeFit(series, moment);
    }
  }
  growth.last_rise = LastRise(series);
  growth.detail = MakeDetail(steps);
  if (growth.detail == GrowthDetail::kSlowing) {
    growth.limit = ComputeLimit(series);
  }
  if (growth.kind == GrowthKind::kNoisy) {
    FindTrend(series, growth);
  } else if (growth.grew > 0) {
    growth.chance = ChanceOfRise(series);
  }
  growth.evidence = MakeEvidence(growth, retained, 1);
  growth.chance = std::round(growth.chance * 1e9) / 1e9;
  return growth;
}

void JudgeAndSort(GrowthSeries& series) {
  std::vector<std::int64_t> totals;
  for (const GrowthPoint& point : series.points) {
    totals.push_back(point.total);
  }
  for (GrowthRow& row : series.rows) {
    row.growth = JudgeGrowth(row.series, row.retained);
  }
  if (!totals.empty()) {
    series.whole = JudgeGrowth(totals, KeptByRows(series.rows, {}));
  }
  for (GrowthDevice& device : series.devices) {
    device.whole = JudgeGrowth(device.totals, KeptByRows(series.rows, device.name));
  }
  series.noisy = 0;
  WeighByRows(series);
  if (series.few_iterations) {
    const auto demote = [](Growth& growth) {
      growth.evidence = growth.is_trend() ? GrowthEvidence::kWeak : growth.evidence;
    };
    demote(series.whole);
    for (GrowthDevice& device : series.devices) {
      demote(device.whole);
    }
    for (GrowthRow& row : series.rows) {
      demote(row.growth);
    }
  }
  std::stable_sort(series.rows.begin(), series.rows.end(), Before);
}

void GrowthTable::AddDevices(GrowthPoint point, std::map<std::string, std::vector<Row>> rows) {
  inputs_.push_back({std::move(point), std::move(rows)});
}

bool GrowthTable::HasTimes() const {
  const auto timed = [](const OneInput& input) { return input.point.time != kNoTime; };
  return std::all_of(inputs_.begin(), inputs_.end(), timed) &&
         std::any_of(inputs_.begin(), inputs_.end(), [this](const OneInput& input) {
           return input.point.time != inputs_.front().point.time;
         });
}

std::vector<SharedText> GrowthTable::Devices() const {
  std::vector<SharedText> names;
  for (const OneInput& input : inputs_) {
    for (const auto& [name, rows] : input.rows) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end(),
            [](const SharedText& a, const SharedText& b) { return NaturalLess(a, b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // An input that does not tell devices apart can only be compared with sums over them.
  return !names.empty() && names.front().empty() ? std::vector<SharedText>(1) : names;
}

namespace {

// The last input decides a row's place: it is the one to look at.
void TakeRow(Row row, SortBy sort, std::size_t input, GrowthRow& to) {
  const bool flat = sort == SortBy::kFlat;
  to.series[input] = SaturatingAdd(to.series[input], flat ? row.value.flat : row.value.cum);
  to.unknown[input] =
      SaturatingAdd(to.unknown[input], flat ? row.value.unknown : row.value.unknown_cum);
  to.name = std::move(row.name);
  to.file = std::move(row.file);
  to.line = row.line;
  to.more_lines = row.more_lines;
  to.via = std::move(row.via);
}

}  // namespace

// Frames by node; rows without one ("(no stack)", labels, sizes) by name.
std::vector<RowPart> GrowthTable::TakeParts(SortBy sort, std::span<const SharedText> devices,
                                            const KeyMap<NodeId, NodeId>& row_of_line) {
  using Key = std::pair<std::uint32_t, SharedText>;
  const auto key_of = [](NodeId node, const SharedText& name) {
    return node.valid() ? Key(node.value(), {}) : Key(NodeId::kNone, name);
  };
  std::map<std::pair<std::uint32_t, Key>, std::size_t> index;
  std::map<Key, std::uint32_t> groups;
  std::vector<RowPart> parts;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    for (auto& [name, rows] : inputs_[i].rows) {
      const auto device = static_cast<std::uint32_t>(
          devices.size() == 1 ? 0
                              : std::find(devices.begin(), devices.end(), name) - devices.begin());
      for (Row& row : rows) {
        const auto [at, added] =
            index.try_emplace({device, key_of(row.node, row.name)}, parts.size());
        if (added) {
          const auto whole = row_of_line.find(row.node);
          const Key group = key_of(whole != row_of_line.end() ? whole->second : row.node, row.name);
          RowPart& made = parts.emplace_back();
          made.row.series.assign(inputs_.size(), 0);
          made.row.unknown.assign(inputs_.size(), 0);
          made.device = device;
          made.group =
              groups.try_emplace(group, static_cast<std::uint32_t>(groups.size())).first->second;
        }
        TakeRow(std::move(row), sort, i, parts[at->second].row);
      }
    }
  }
  return parts;
}

GrowthSeries GrowthTable::Finish(InputOrder order, SortBy sort,
                                 const KeyMap<NodeId, NodeId>& row_of_line) {
  if (order != InputOrder::kGiven) {
    std::stable_sort(inputs_.begin(), inputs_.end(), [order](const auto& a, const auto& b) {
      if (order == InputOrder::kTime && a.point.time != b.point.time) {
        return a.point.time < b.point.time;
      }
      return NaturalLess(a.point.name, b.point.name);
    });
  }
  GrowthSeries series;
  const std::vector<SharedText> devices = Devices();
  std::vector<RowPart> parts = TakeParts(sort, devices, row_of_line);
  for (std::size_t i = 0; i < devices.size() && devices.size() > 1; ++i) {
    GrowthDevice& device = series.devices.emplace_back(GrowthDevice{
        .name = devices[i], .totals = std::vector<std::int64_t>(inputs_.size()), .whole = {}});
    for (const RowPart& part : parts) {
      if (part.device == i) {
        AddTo(device.totals, part.row.series);
      }
    }
  }
  series.rows = JoinParts(parts, devices);
  for (OneInput& input : inputs_) {
    series.points.push_back(std::move(input.point));
  }
  inputs_.clear();
  JudgeAndSort(series);
  return series;
}

}  // namespace memtool
