#include "answers/leaks/leaks_findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"

namespace memtool {

namespace {

__extension__ using Int128 = __int128;

constexpr std::array kShapes{GrowthShape::kSteady, GrowthShape::kRepeated, GrowthShape::kRising};

GrowthShape GetShape(const Growth& growth) {
  return growth.kind == GrowthKind::kSteady         ? GrowthShape::kSteady
         : growth.detail == GrowthDetail::kRepeated ? GrowthShape::kRepeated
                                                    : GrowthShape::kRising;
}

class Finder {
 public:
  Finder(const GrowthSeries& series, bool cum) : series_(series), cum_(cum) {
    for (const GrowthRow& row : series.rows) {
      if (row.name == kBeforeRecording) {
        bases_.push_back(&row);
      }
    }
    for (const GrowthPoint& point : series.points) {
      notable_ = std::max(notable_, point.total / kNotable);
    }
  }

  std::vector<Finding> Run() && {
    if (series_.single_events) {
      findings_.push_back({.code = FindingCode::kTooShort});
    } else if (series_.whole.steps == 1) {
      // Also when nothing grew.
      findings_.push_back(
          Of(FindingCode::kOneStep, [](const GrowthRow& row) { return row.growth.grew > 0; }));
    } else {
      if (series_.few_iterations) {
        OneIteration();
      } else {
        GoingOn(FindingCode::kGrowing, GrowthEvidence::kStrong);
        GoingOn(FindingCode::kMaybe, GrowthEvidence::kWeak);
      }
      GoingOn(FindingCode::kFreed, GrowthEvidence::kFreed);
      std::move(given_back_.begin(), given_back_.end(), std::back_inserter(findings_));
      InPart();
      Add(Of(FindingCode::kLittle, [this](const GrowthRow& row) {
        return (row.growth.evidence == GrowthEvidence::kStrong ||
                row.growth.evidence == GrowthEvidence::kWeak) &&
               IsLittle(row);
      }));
    }
    Add(Of(FindingCode::kConstant, [](const GrowthRow& row) {
      return row.growth.kind == GrowthKind::kConstant && row.growth.last != 0;
    }));
    return std::move(findings_);
  }

 private:
  template <class Predicate>
  Finding Of(FindingCode code, Predicate accepts, std::vector<std::int64_t>* sums = nullptr) const {
    Finding finding{.code = code};
    std::vector<std::int64_t> values(series_.points.size(), 0);
    for (const GrowthRow& row : series_.rows) {
      if (!accepts(row)) {
        continue;
      }
      finding.rows.push_back({.name = row.name,
                              .file = row.file,
                              .line = row.line,
                              .more_lines = row.more_lines,
                              .device = row.device});
      finding.chance = std::max(finding.chance, row.growth.chance);
      if (cum_ && finding.rows.size() > 1) {
        continue;  // the first holds the others, or stands for them
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = SaturatingAdd(values[i], row.series[i]);
      }
    }
    finding.sum = JudgeGrowth(values);
    if (sums != nullptr) {
      *sums = std::move(values);
    }
    return finding;
  }

  void Add(Finding finding) {
    if (!finding.rows.empty()) {
      findings_.push_back(std::move(finding));
    }
  }

  void GoingOn(FindingCode code, GrowthEvidence evidence) {
    for (const GrowthShape shape : kShapes) {
      const auto accepts = [=, this](const GrowthRow& row) {
        return row.growth.evidence == evidence && GetShape(row.growth) == shape && !IsLittle(row);
      };
      Finding finding =
          code == FindingCode::kFreed ? Of(code, accepts) : Split(code, shape, accepts);
      finding.shape = shape;
      if (code == FindingCode::kMaybe) {
        AddDoubt(finding);
      }
      Add(std::move(finding));
    }
  }

  // The rows that are not given back on their device; the others are a finding of their own.
  template <class Predicate>
  Finding Split(FindingCode code, GrowthShape shape, Predicate accepts) {
    std::vector<SharedText> given;
    std::vector<SharedText> devices{{}};
    for (const GrowthDevice& device : series_.devices) {
      devices.push_back(device.name);
    }
    const auto is_given = [&given](const GrowthRow& row) {
      return std::find(given.begin(), given.end(), row.device) != given.end();
    };
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::vector<std::int64_t> totals = i == 0 ? Totals() : series_.devices[i - 1].totals;
      std::vector<std::int64_t> sums;
      Finding back = Of(
          FindingCode::kGivenBack,
          [&](const GrowthRow& row) { return row.device == devices[i] && accepts(row); }, &sums);
      if (GivenBack(back, sums, totals)) {
        back.shape = shape;
        back.least = *std::min_element(totals.begin(), totals.end());
        back.most = *std::max_element(totals.begin(), totals.end());
        given_back_.push_back(std::move(back));
        given.push_back(devices[i]);
      }
    }
    return Of(code, [&](const GrowthRow& row) { return accepts(row) && !is_given(row); });
  }

  [[nodiscard]] std::vector<std::int64_t> Totals() const {
    std::vector<std::int64_t> totals;
    for (const GrowthPoint& point : series_.points) {
      totals.push_back(point.total);
    }
    return totals;
  }

  // All other rows together shrink by about what these rows gain: between four fifths and one and a
  // half times that. Where they fall by more, the total is not flat.
  [[nodiscard]] static bool GivenBack(const Finding& finding, const std::vector<std::int64_t>& sums,
                                      const std::vector<std::int64_t>& totals) {
    const std::int64_t gain = finding.sum.delta();
    if (finding.rows.empty() || gain <= 0) {
      return false;
    }
    std::vector<std::int64_t> others;
    for (std::size_t i = 0; i < totals.size(); ++i) {
      others.push_back(SaturatingSubtract(totals[i], sums[i]));
    }
    const Growth rest = JudgeGrowth(others);
    const bool falls = rest.kind == GrowthKind::kShrinking || rest.detail == GrowthDetail::kFalling;
    const std::int64_t back = SaturatingSubtract(0, rest.delta());
    return falls && back >= gain - gain / 5 && back <= SaturatingAdd(gain, gain / 2);
  }

  void OneIteration() {
    Finding finding =
        Split(FindingCode::kOneIteration, GrowthShape::kNone, [this](const GrowthRow& row) {
          return row.growth.evidence == GrowthEvidence::kWeak && !IsLittle(row);
        });
    finding.phase = GetPhase(finding);
    Add(std::move(finding));
  }

  // The phase that most of the gain of the rising rows belongs to.
  [[nodiscard]] Phase GetPhase(const Finding& finding) const {
    std::int64_t backward = 0;
    std::int64_t optimizer = 0;
    for (const GrowthRow& row : series_.rows) {
      if (row.growth.evidence != GrowthEvidence::kWeak || row.growth.delta() <= 0) {
        continue;
      }
      const auto has = [&row](std::string_view word) {
        return row.name.view().find(word) != std::string::npos ||
               row.via.view().find(word) != std::string::npos;
      };
      if (has("Backward") || has("backward") || has("AccumulateGrad")) {
        backward = SaturatingAdd(backward, row.growth.delta());
      } else if (row.file.view().find("optim") != std::string::npos || has("Optimizer") ||
                 has("optimizer")) {
        optimizer = SaturatingAdd(optimizer, row.growth.delta());
      }
    }
    const std::int64_t half = finding.sum.delta() / 2;
    return backward > half    ? Phase::kBackward
           : optimizer > half ? Phase::kOptimizer
                              : Phase::kUnknown;
  }

  // Why a group may rise by chance only.
  void AddDoubt(Finding& finding) const {
    if (finding.shape == GrowthShape::kRepeated && finding.sum.grew < kMinRises) {
      finding.doubt = Doubt::kFewRises;
      return;
    }
    finding.doubt = finding.shape == GrowthShape::kSteady ? Doubt::kFewPoints : Doubt::kChance;
    finding.among = series_.noisy > 1 && finding.chance <= kSure ? series_.noisy : 0;
  }

  // Growth in a part of the steps only.
  void InPart() {
    const auto with = [](GrowthDetail detail) {
      return [detail](const GrowthRow& row) { return row.growth.detail == detail; };
    };
    AddNotable(Of(FindingCode::kLate, with(GrowthDetail::kLate)));
    Jumps(FindingCode::kLastJump, true);
    Jumps(FindingCode::kJump, false);
    AddNotable(Of(FindingCode::kStopped, with(GrowthDetail::kStopped)));
  }

  // What is no trend is worth a sentence only where it changes what is held.
  void AddNotable(Finding finding) {
    if (finding.sum.delta() >= notable_) {
      Add(std::move(finding));
    }
  }

  // Whether a trend never changes what is held: not so far, and not by a hundredth in as many steps
  // as a long run has. Within one iteration there is no further step.
  [[nodiscard]] bool IsLittle(const GrowthRow& row) const {
    constexpr std::int64_t kLongRun = 1'000'000;
    constexpr std::int64_t kHundredth = kNotable / 100;  // of the highest point
    return row.growth.delta() < notable_ &&
           (series_.few_iterations || row.growth.slope < notable_ * kHundredth / kLongRun);
  }

  // Whether what was there before the recording falls by as much when the row rises: the one took
  // the other's place.
  [[nodiscard]] bool ReplacesBase(const GrowthRow& row) const {
    constexpr std::int64_t kPart = 100;  // of the rise, that they may differ by
    const auto change = [step = row.growth.last_rise](const GrowthRow& of) {
      return SaturatingSubtract(of.series[step], of.series[step - 1]);
    };
    const std::int64_t rise = change(row);
    return std::any_of(bases_.begin(), bases_.end(), [&](const GrowthRow* base) {
      return base->device == row.device && base->series.front() >= rise &&
             Magnitude(SaturatingAdd(rise, change(*base))) <= Magnitude(rise / kPart);
    });
  }

  void Jumps(FindingCode code, bool at_last) {
    std::optional<std::size_t> step;
    Finding finding = Of(code, [this, &step, at_last](const GrowthRow& row) {
      const Growth& growth = row.growth;
      const bool wanted = growth.detail == GrowthDetail::kOnce &&
                          (growth.last_rise == growth.steps) == at_last && !ReplacesBase(row);
      if (wanted) {
        step = !step || *step == growth.last_rise ? growth.last_rise : 0;
      }
      return wanted;
    });
    finding.step = step.value_or(0);
    AddNotable(std::move(finding));
  }

  static constexpr std::int64_t kNotable = 10'000;

  const GrowthSeries& series_;
  bool cum_;
  std::int64_t notable_ = 0;             // that part of the highest point
  std::vector<const GrowthRow*> bases_;  // (before recording), by device
  std::vector<Finding> findings_;
  std::vector<Finding> given_back_;
};

// The fewest steps that add `more` bytes, when the last step added `step` and each adds
// `acceleration` more than the one before; neither is negative, and at least one is positive.
std::int64_t StepsUntil(std::int64_t more, std::int64_t step, std::int64_t acceleration) {
  const auto reached = [&](std::int64_t n) {
    const Int128 steps = n;
    const Int128 accelerations = steps * (steps + 1) / 2;
    // Divided first: the product may not fit.
    return (acceleration > 0 && accelerations > more / acceleration) ||
           steps * step + accelerations * acceleration >= more;
  };
  std::int64_t low = 0;  // not reached
  std::int64_t high = more;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

Reach ReachOf(const GrowthSeries& series, const Growth& whole, std::int64_t capacity) {
  Reach reach{.capacity = capacity, .whole = whole};
  if (whole.last >= capacity) {
    reach.code = ReachCode::kReached;
    return reach;
  }
  const bool is_trend = whole.is_trend() || whole.evidence == GrowthEvidence::kWeak;
  if (!is_trend || whole.slope <= 0 || series.few_iterations) {
    reach.rows_grow = std::any_of(series.rows.begin(), series.rows.end(),
                                  [](const GrowthRow& row) { return row.growth.is_trend(); });
    return reach;
  }
  reach.maybe = !whole.is_trend();
  const std::int64_t more = SaturatingSubtract(capacity, whole.last);
  if (whole.limit && *whole.limit <= capacity) {
    reach.code = ReachCode::kNever;
  } else if (whole.detail == GrowthDetail::kSlowing) {
    reach.code = ReachCode::kAtLeast;
    reach.steps = StepsUntil(more, whole.last_step, 0);
  } else if (whole.detail == GrowthDetail::kAccelerating) {
    reach.code = ReachCode::kAccelerating;
    reach.steps = StepsUntil(more, whole.last_step, whole.acceleration);
  } else {
    reach.code = ReachCode::kEven;
    reach.steps = StepsUntil(more, whole.slope, 0);
  }
  return reach;
}

// Which of two comes first.
bool IsSooner(const Reach& a, const Reach& b) {
  const auto rank = [](const Reach& reach) {
    return reach.code == ReachCode::kReached ? 0
           : reach.steps > 0                 ? 1
           : reach.code == ReachCode::kNever ? 2
                                             : 3;
  };
  return std::pair(rank(a), a.steps) < std::pair(rank(b), b.steps);
}

}  // namespace

std::vector<Finding> CollectFindings(const GrowthSeries& series, bool cum) {
  return Finder(series, cum).Run();
}

Reach ComputeReach(const GrowthSeries& series, std::int64_t capacity) {
  if (series.devices.empty()) {
    return ReachOf(series, series.whole, capacity);
  }
  Reach first;
  for (const GrowthDevice& device : series.devices) {
    Reach reach = ReachOf(series, device.whole, capacity);
    reach.device = device.name;
    if (first.device.empty() || IsSooner(reach, first)) {
      first = std::move(reach);
    }
  }
  return first;
}

}  // namespace memtool
