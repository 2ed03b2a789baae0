#include <algorithm>
#include <array>

#include "memtool/profile/ranks/classes.h"
#include "ranks/distances.h"

namespace memtool {

namespace {

constexpr std::size_t kMinGroup = 4;
constexpr double kSigma = 1.4826;  // of a normal distribution, per median distance

struct Factor {
  std::size_t group;  // at least so many values
  double k;
};

// The 99.6th percentile of the largest distance in a group of normally distributed values, in units
// of kSigma times the median distance, rounded up: measured over 20,000 (of 512) to 600,000 groups
// (of up to 32), from 1,024 on worked out from the normal distribution. So noise makes an outlier
// in fewer than one of a hundred groups of any size. Odd groups need more than even ones. Groups
// between two sizes take the smaller one's.
constexpr std::array kFactors{
    Factor{4, 25.7},   Factor{5, 29.9},   Factor{6, 13.9},   Factor{7, 14.9}, Factor{8, 10.3},
    Factor{9, 10.7},   Factor{10, 8.9},   Factor{12, 7.8},   Factor{14, 7.1}, Factor{16, 6.6},
    Factor{20, 6.1},   Factor{24, 5.7},   Factor{32, 5.3},   Factor{64, 4.8}, Factor{1024, 4.9},
    Factor{2048, 5.0}, Factor{4096, 5.2}, Factor{16384, 5.6}};

double GetFactor(std::size_t group) {
  double k = kFactors.front().k;
  for (const Factor& factor : kFactors) {
    k = group >= factor.group ? factor.k : k;
  }
  return k;
}

}  // namespace

std::int64_t ComputeMedian(std::vector<std::int64_t> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) {
    return *middle;
  }
  const Wide below = *std::max_element(values.begin(), middle);
  return static_cast<std::int64_t>((below + Wide{*middle}) / 2);
}

std::vector<std::size_t> Outliers(std::span<const std::int64_t> values,
                                  const Tolerance& tolerance) {
  std::vector<std::size_t> rows;
  if (values.size() < kMinGroup) {
    return rows;
  }
  const std::int64_t median = ComputeMedian({values.begin(), values.end()});
  std::vector<std::int64_t> distances;
  distances.reserve(values.size());
  for (const std::int64_t value : values) {
    distances.push_back(Magnitude(SaturatingSubtract(value, median)));
  }
  const std::int64_t spread = ComputeMedian(distances);
  const double limit = GetFactor(values.size()) * kSigma * static_cast<double>(spread);
  for (std::size_t row = 0; row < values.size(); ++row) {
    const bool far = distances[row] > ComputeLimit(Magnitude(median), tolerance);
    if (far && (spread == 0 || static_cast<double>(distances[row]) > limit)) {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace memtool
