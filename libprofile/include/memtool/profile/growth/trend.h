// Whether a series of values rises more than chance allows: the Mann-Kendall test.
//
// It counts pairs of points: S = pairs whose later value is the larger, less pairs whose later
// value is the smaller. Only the order of values counts, so no distribution of the noise is
// assumed, only that the points are independent. Sources:
// * H. B. Mann, Nonparametric Tests Against Trend, Econometrica 13 (1945) 245-259;
// * M. G. Kendall, Rank Correlation Methods, 4th ed. (1975), ch. 1 and 5: the exact distribution of
//   S from the permutations by their inversions, used up to kExactPoints, and beyond them the
//   normal approximation with variance n(n-1)(2n+5)/18 and the correction for continuity;
// * R. M. Hirsch, J. R. Slack, R. A. Smith, Techniques of Trend Analysis for Monthly Water Quality
//   Data, Water Resources Research 18 (1982) 107-121: with a known cycle, points are compared with
//   those of the same place in other cycles only; S and its variance are sums over the places.
// Equal values count as no pair, and the distribution is that without equal values: the cautious
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace memtool {

inline constexpr std::size_t kExactPoints = 10;  // of each place of a cycle
inline constexpr std::size_t kExactCycle = 4;  // cycles longer than this get no more points than it

// S of the test. At most 2^31 values.
std::int64_t KendallS(std::span<const std::int64_t> series);

// The probability that values in random order rise at least as much as `series`, in which every
// `cycle` points are one cycle (1 = no cycle). The result is 1 where S is not above zero.
double ChanceOfRise(std::span<const std::int64_t> series, std::size_t cycle = 1);

// How many points are one cycle of a series that rises and falls back, such as memory that is kept
// for some steps and then freed at once: the distance between its falls, if there are at least
// three, all equally far apart, and none is missing at either end; else 1.
std::size_t FindCycle(std::span<const std::int64_t> series);

// Whether what a series falls back to rises: of its first, middle and last third each has a higher
// lowest point than the one before, by at least a quarter of what the straight line with `slope`
// per point gains in a third, and the last by at least a quarter of what the middle one has. A
// cycle without growth, a single jump, and a finished start-up all have a third whose lowest point
// does not follow the line. False for fewer than three points.
bool LowsRise(std::span<const std::int64_t> series, std::int64_t slope);

}  // namespace memtool
