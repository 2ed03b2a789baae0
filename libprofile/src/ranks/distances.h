// How far two ranks are apart. Sums are of 128 bits: no number of rows makes them leave their
// range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/ranks/classes.h"

namespace memtool {

__extension__ using Wide = __int128;

// Up to which difference an amount is alike.
inline Wide ComputeLimit(Wide amount, const Tolerance& tolerance) {
  return std::max<Wide>(amount * tolerance.percent / 100, tolerance.bytes);
}

// Σ|bytes|
inline Wide GetTotal(std::span<const RowBytes> rows) {
  Wide total = 0;
  for (const RowBytes& row : rows) {
    total += Magnitude(row.bytes);
  }
  return total;
}

// Calls visit(key, here, there) for each key of either in ascending order, until it returns false.
template <class Visit>
void ForBoth(std::span<const RowBytes> here, std::span<const RowBytes> there, Visit visit) {
  std::size_t a = 0;
  std::size_t b = 0;
  bool going = true;
  while (going && (a < here.size() || b < there.size())) {
    if (b == there.size() || (a < here.size() && here[a].key < there[b].key)) {
      going = visit(here[a].key, here[a].bytes, std::int64_t{0});
      ++a;
    } else if (a == here.size() || there[b].key < here[a].key) {
      going = visit(there[b].key, std::int64_t{0}, there[b].bytes);
      ++b;
    } else {
      going = visit(here[a].key, here[a].bytes, there[b].bytes);
      ++a;
      ++b;
    }
  }
}

// Whether Σ|here - there| is at most `limit`; looks no further than it has to.
inline bool Within(std::span<const RowBytes> here, std::span<const RowBytes> there, Wide limit) {
  Wide sum = 0;
  ForBoth(here, there, [&](std::uint64_t, std::int64_t x, std::int64_t y) {
    sum += Magnitude(SaturatingSubtract(x, y));
    return sum <= limit;
  });
  return sum <= limit;
}

// Of an even number, the mean of the two in the middle.
std::int64_t ComputeMedian(std::vector<std::int64_t> values);

}  // namespace memtool
