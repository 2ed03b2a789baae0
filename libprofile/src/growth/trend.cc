#include "memtool/profile/growth/trend.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace memtool {

namespace {

__extension__ using Int128 = __int128;

// The Mann-Kendall test. Memory that grows by chance and memory that leaks can have the same slope,
// but only a trend rises in nearly all pairs of points. S is the number of rising pairs less that
// of falling ones: it needs no assumption about the size of steps or their distribution, and a
// single outlier moves it little, unlike a least-squares line.
//
// The chance of an S at least this large without a trend is computed exactly for short series,
// where every order of the points is equally likely and falling pairs are inversions of a
// permutation. For long ones S is close to normal; its variance is n(n-1)(2n+5)/18.
//
// Series that repeat a pattern (a buffer that fills and is emptied) are compared place by place:
// the first points of all cycles with each other, the second ones, and so on (the seasonal form of
// the test). Otherwise the rise within each cycle would pass for a trend.
struct Pairs {
  std::int64_t falling = 0;  // the later value is the smaller
  std::int64_t equal = 0;
};

std::int64_t AllPairs(std::size_t points) {
  const auto n = static_cast<std::int64_t>(points);
  return n * (n - 1) / 2;
}

// By merging sorted runs: all pairs one by one are too many for long series.
Pairs CountPairs(std::vector<std::int64_t> values) {
  Pairs pairs;
  std::vector<std::int64_t> merged(values.size());
  for (std::size_t run = 1; run < values.size(); run *= 2) {
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, values.size());
      const std::size_t end = std::min(begin + 2 * run, values.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t to = begin; to < end; ++to) {
        const bool falls = right < end && (left == middle || values[right] < values[left]);
        pairs.falling += falls ? static_cast<std::int64_t>(middle - left) : 0;
        merged[to] = falls ? values[right++] : values[left++];
      }
    }
    values.swap(merged);
  }
  std::size_t same = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    same = values[i] == values[i - 1] ? same + 1 : 0;
    pairs.equal += static_cast<std::int64_t>(same);
  }
  return pairs;
}

// Element i: the share of all permutations that have i inversions.
using Inversions = std::vector<double>;

// From the permutations of one value fewer: the largest value can be put into n places.
Inversions FindInversions(std::size_t points) {
  Inversions shares{1};
  for (std::size_t n = 2; n <= points; ++n) {
    Inversions next(shares.size() + n - 1, 0);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      for (std::size_t place = 0; place < n; ++place) {
        next[i + place] += shares[i] / static_cast<double>(n);
      }
    }
    shares = std::move(next);
  }
  return shares;
}

// For two sets of values that are permuted separately.
Inversions Together(const Inversions& a, const Inversions& b) {
  Inversions both(a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      both[i + j] += a[i] * b[j];
    }
  }
  return both;
}

// How likely at most `most` inversions are in `points` values that form `cycle` sets.
double ShareUpTo(std::int64_t most, std::size_t points, std::size_t cycle) {
  Inversions all{1};
  for (std::size_t place = 0; place < cycle; ++place) {
    all = Together(all, FindInversions((points - place + cycle - 1) / cycle));
  }
  double sum = 0;
  for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(i) <= most; ++i) {
    sum += all[i];
  }
  return sum;
}

double VarianceOfS(std::size_t points) {
  const auto n = static_cast<double>(points);
  return n * (n - 1) * (2 * n + 5) / 18;
}

double UpperTail(double deviations) {
  return std::erfc(deviations / std::numbers::sqrt2) / 2;
}

}  // namespace

std::int64_t KendallS(std::span<const std::int64_t> series) {
  const Pairs pairs = CountPairs({series.begin(), series.end()});
  return AllPairs(series.size()) - 2 * pairs.falling - pairs.equal;
}

double ChanceOfRise(std::span<const std::int64_t> series, std::size_t cycle) {
  std::int64_t s = 0;
  std::int64_t pairs = 0;
  double variance = 0;
  std::vector<std::int64_t> places;
  for (std::size_t place = 0; place < std::min(cycle, series.size()); ++place) {
    places.clear();
    for (std::size_t i = place; i < series.size(); i += cycle) {
      places.push_back(series[i]);
    }
    s += KendallS(places);
    pairs += AllPairs(places.size());
    variance += VarianceOfS(places.size());
  }
  if (s <= 0) {
    return 1;
  }
  if (series.size() <= kExactPoints * std::min(cycle, kExactCycle)) {
    // Where equal values make the number odd, the greater number of inversions counts.
    return ShareUpTo((pairs - s + 1) / 2, series.size(), cycle);
  }
  // S moves in steps of two: less one is the usual correction for continuity.
  return UpperTail((static_cast<double>(s) - 1) / std::sqrt(variance));
}

std::size_t FindCycle(std::span<const std::int64_t> series) {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t cycle = 0;
  std::size_t falls = 0;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (series[i] >= series[i - 1]) {
      continue;
    }
    ++falls;
    if (falls == 1) {
      first = i;
    } else if (falls == 2) {
      cycle = i - last;
    } else if (i - last != cycle) {
      return 1;
    }
    last = i;
  }
  // Two falls have one distance, which proves nothing; and the ends must fit into the pattern.
  const bool whole = falls > 2 && first <= cycle && last + cycle >= series.size();
  return whole && cycle > 1 ? cycle : 1;
}

bool LowsRise(std::span<const std::int64_t> series, std::int64_t slope) {
  const std::size_t third = series.size() / 3;
  if (third == 0) {
    return false;
  }
  const auto low = [](std::span<const std::int64_t> part) {
    return Int128{*std::min_element(part.begin(), part.end())};
  };
  const Int128 early = low(series.first(third));
  const Int128 middle = low(series.subspan(third, series.size() - 2 * third));
  const Int128 late = low(series.last(third));
  // A leak raises the floor that the series returns to, not only its peaks. Between the lows of
  // neighbouring thirds the line itself rises by a third of its whole; a quarter of that suffices.
  const auto follows = [&](Int128 rise) {
    return rise > 0 && 12 * rise >= static_cast<Int128>(slope) * static_cast<Int128>(series.size());
  };
  return follows(middle - early) && follows(late - middle) && 4 * (late - middle) >= middle - early;
}

}  // namespace memtool
