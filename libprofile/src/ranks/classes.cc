#include "memtool/profile/ranks/classes.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "ranks/distances.h"
#include "ranks/structure.h"

namespace memtool {

namespace {

using Ranks = std::span<const RankMemory>;
using Rows = std::vector<std::size_t>;

// Never more than one in so many of a class is called an outlier.
constexpr std::size_t kFewOutliers = 5;
// So many times as many as all others are nearly all: what one of a dozen has more is no stage.
constexpr std::size_t kNearlyAll = 7;

// Leader clustering: a rank joins the first class whose founder it is like.
class Clusters {
 public:
  Clusters(Ranks ranks, const Tolerance& tolerance) : ranks_(ranks), tolerance_(tolerance) {
    totals_.reserve(ranks.size());
    for (const RankMemory& rank : ranks) {
      totals_.push_back(GetTotal(rank.rows));
    }
    for (std::size_t row = 0; row < ranks.size(); ++row) {
      members_[FindOrFound(row)].push_back(row);
    }
  }

  [[nodiscard]] std::vector<Rows> Take() { return std::move(members_); }

 private:
  // Totals that differ by more than the limit cannot belong to ranks that are alike: only founders
  // with a total near that of `row` are compared.
  std::size_t FindOrFound(std::size_t row) {
    const Wide total = totals_[row];
    std::size_t best = members_.size();
    for (auto at = founders_.lower_bound(total - ComputeLimit(total, tolerance_));
         at != founders_.end() && at->first - total <= ComputeLimit(at->first, tolerance_); ++at) {
      const Wide limit = ComputeLimit(std::max(total, at->first), tolerance_);
      if (at->second < best &&
          Within(ranks_[row].rows, ranks_[members_[at->second].front()].rows, limit)) {
        best = at->second;
      }
    }
    if (best == members_.size()) {
      founders_.emplace(total, best);
      members_.emplace_back();
    }
    return best;
  }

  Ranks ranks_;
  Tolerance tolerance_;
  std::vector<Wide> totals_;
  std::vector<Rows> members_;
  std::multimap<Wide, std::size_t> founders_;
};

std::vector<std::int64_t> GetPeaks(Ranks ranks, const Rows& members) {
  std::vector<std::int64_t> peaks;
  peaks.reserve(members.size());
  for (const std::size_t row : members) {
    peaks.push_back(ranks[row].peak);
  }
  return peaks;
}

// The member in the middle by peak; of equal ones the lowest rank.
std::size_t FindTypical(Ranks ranks, const Rows& members) {
  Rows sorted = members;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a].peak < ranks[b].peak; });
  const std::int64_t middle = ranks[sorted[(sorted.size() - 1) / 2]].peak;
  return *std::find_if(sorted.begin(), sorted.end(),
                       [&](std::size_t row) { return ranks[row].peak == middle; });
}

// Whether `here` would be alike `there` if it did not have more in one row.
bool ExceedsByOneRow(const RankMemory& here, const RankMemory& there, const Tolerance& tolerance) {
  Wide sum = 0;
  Wide largest = 0;
  ForBoth(here.rows, there.rows, [&](std::uint64_t, std::int64_t x, std::int64_t y) {
    const std::int64_t more = SaturatingSubtract(x, y);
    sum += Magnitude(more);
    largest = std::max<Wide>(largest, more);
    return true;
  });
  const Wide total = std::max(GetTotal(here.rows) - largest, GetTotal(there.rows));
  return largest > 0 && sum - largest <= ComputeLimit(total, tolerance);
}

// Looks for outliers in classes, and for classes of one rank that are outliers of larger ones.
class OutlierFinder {
 public:
  OutlierFinder(Ranks ranks, const Tolerance& tolerance, std::vector<Rows>& classes)
      : ranks_(ranks), tolerance_(tolerance), classes_(classes) {
    for (const Rows& members : classes_) {
      typical_.push_back(FindTypical(ranks_, members));
    }
  }

  // Moves single ranks into the class that they exceed; what is left empty is removed.
  void JoinSingles() {
    Rows joins(classes_.size(), kNoRow);
    for (std::size_t at = 0; at < classes_.size(); ++at) {
      joins[at] = classes_[at].size() == 1 ? ClassExceededBy(classes_[at].front()) : kNoRow;
    }
    LeaveEnds(joins);
    std::vector<Rows> joining(classes_.size());
    for (std::size_t at = 0; at < joins.size(); ++at) {
      if (joins[at] != kNoRow) {
        joining[joins[at]].push_back(classes_[at].front());
      }
    }
    for (std::size_t at = 0; at < classes_.size(); ++at) {
      Join(at, joining[at]);
    }
    std::erase_if(classes_, [](const Rows& members) { return members.empty(); });
  }

  // Those of one class, as rows of the span; sets `wide` where there are too many.
  [[nodiscard]] Rows In(const Rows& members, bool& wide) const {
    const Rows found = Outliers(GetPeaks(ranks_, members), tolerance_);
    wide = kFewOutliers * found.size() > members.size();
    Rows rows;
    for (const std::size_t at : found) {
      rows.push_back(members[at]);
    }
    return wide ? Rows{} : rows;
  }

  [[nodiscard]] const Rows& joined() const { return joined_; }

 private:
  // The class that nearly all ranks are in, if this one holds more than they; else the largest that
  // differs from this rank by one row only; of equal ones the first.
  [[nodiscard]] std::size_t ClassExceededBy(std::size_t row) const {
    std::size_t best = kNoRow;
    for (std::size_t at = 0; at < classes_.size(); ++at) {
      const std::size_t others = ranks_.size() - classes_[at].size();
      if (classes_[at].size() >= kNearlyAll * others && IsMoreOf(row, typical_[at])) {
        return at;
      }
    }
    for (std::size_t at = 0; at < classes_.size(); ++at) {
      const Rows& members = classes_[at];
      const bool larger =
          members.size() > 1 && (best == kNoRow || members.size() > classes_[best].size());
      if (larger && ExceedsByOneRow(ranks_[row], ranks_[typical_[at]], tolerance_)) {
        best = at;
      }
    }
    return best;
  }

  // Whether a rank holds more than another, and mostly the same: it runs no other program.
  [[nodiscard]] bool IsMoreOf(std::size_t row, std::size_t typical) const {
    const RankMemory& here = ranks_[row];
    const RankMemory& there = ranks_[typical];
    return here.peak > there.peak && Within(here.rows, there.rows, GetTotal(here.rows) / 2);
  }

  // Where the first and the last rank both differ from those between, they are the ends of a
  // pipeline (embedding and loss), not outliers.
  void LeaveEnds(Rows& joins) const {
    const auto single_of = [&](std::size_t row) {
      for (std::size_t at = 0; at < classes_.size(); ++at) {
        if (classes_[at].size() == 1 && classes_[at].front() == row) {
          return at;
        }
      }
      return kNoRow;
    };
    const std::size_t first = single_of(0);
    const std::size_t last = single_of(ranks_.size() - 1);
    if (first != kNoRow && last != kNoRow && first != last) {
      joins[first] = kNoRow;
      joins[last] = kNoRow;
    }
  }

  void Join(std::size_t at, const Rows& joining) {
    if (joining.empty()) {
      return;
    }
    Rows together = classes_[at];
    together.insert(together.end(), joining.begin(), joining.end());
    std::sort(together.begin(), together.end());
    bool wide = false;
    const Rows outliers = In(together, wide);
    const bool all_are = std::all_of(joining.begin(), joining.end(), [&](std::size_t row) {
      return std::binary_search(outliers.begin(), outliers.end(), row);
    });
    if (!all_are) {
      return;  // they stay classes
    }
    for (const std::size_t row : joining) {
      const auto alone = std::find(classes_.begin(), classes_.end(), Rows{row});
      alone->clear();
      joined_.push_back(row);
    }
    classes_[at] = std::move(together);
  }

  Ranks ranks_;
  Tolerance tolerance_;
  std::vector<Rows>& classes_;
  Rows typical_;  // per class
  Rows joined_;
};

// Whether nine tenths of what `half` holds is in rows that have twice the size in `whole`.
bool IsHalfOf(const RankMemory& half, const RankMemory& whole) {
  constexpr Wide kTolerance = 50;  // one part in so many
  Wide total = 0;
  Wide halved = 0;
  ForBoth(half.rows, whole.rows, [&](std::uint64_t, std::int64_t x, std::int64_t y) {
    total += std::max<std::int64_t>(x, 0);
    const Wide between = Wide{y} - 2 * Wide{x};
    const Wide apart = between < 0 ? -between : between;
    halved += x > 0 && kTolerance * apart <= y ? x : 0;
    return true;
  });
  return total > 0 && 10 * halved >= 9 * total;
}

class Classifier {
 public:
  Classifier(Ranks ranks, std::int64_t world, const Tolerance& tolerance)
      : ranks_(ranks), world_(world), tolerance_(tolerance) {}

  RankClasses Classify() {
    if (ranks_.empty()) {
      return {};
    }
    std::vector<Rows> members = Clusters(ranks_, tolerance_).Take();
    OutlierFinder finder(ranks_, tolerance_, members);
    finder.JoinSingles();
    std::sort(members.begin(), members.end());
    for (Rows& of_class : members) {
      AddClass(std::move(of_class), finder);
    }
    CompareClasses();
    SortOutliers();
    NameStructure();
    Rows all(ranks_.size());
    for (std::size_t row = 0; row < all.size(); ++row) {
      all[row] = row;
    }
    found_.median = ComputeMedian(GetPeaks(ranks_, all));
    return std::move(found_);
  }

 private:
  void AddClass(Rows members, const OutlierFinder& finder) {
    RankClass& added = found_.classes.emplace_back();
    const std::vector<std::int64_t> peaks = GetPeaks(ranks_, members);
    added.median = ComputeMedian(peaks);
    added.least = *std::min_element(peaks.begin(), peaks.end());
    added.most = *std::max_element(peaks.begin(), peaks.end());
    const Rows outliers = finder.In(members, added.wide);
    Rows normal;
    std::set_difference(members.begin(), members.end(), outliers.begin(), outliers.end(),
                        std::back_inserter(normal));
    added.typical = FindTypical(ranks_, normal);
    found_.class_of.resize(ranks_.size(), 0);
    for (const std::size_t row : members) {
      found_.class_of[row] = found_.classes.size() - 1;
    }
    for (const std::size_t row : outliers) {
      const auto& joined = finder.joined();
      found_.outliers.push_back(
          {.row = row,
           .in_class = found_.classes.size() - 1,
           .above = SaturatingSubtract(ranks_[row].peak, added.median),
           .alone = std::find(joined.begin(), joined.end(), row) != joined.end(),
           .because = Differences(ranks_[row].rows, ranks_[added.typical].rows, kMaxDifferences)});
    }
    added.members = std::move(members);
  }

  void CompareClasses() {
    const auto largest = std::max_element(
        found_.classes.begin(), found_.classes.end(),
        [](const RankClass& a, const RankClass& b) { return a.members.size() < b.members.size(); });
    for (RankClass& other : found_.classes) {
      if (&other == &*largest) {
        continue;
      }
      const RankMemory& here = ranks_[other.typical];
      const RankMemory& there = ranks_[largest->typical];
      other.differences = Differences(here.rows, there.rows, kMaxDifferences);
      if (IsHalfOf(here, there)) {
        other.half_of = static_cast<std::size_t>(largest - found_.classes.begin());
      } else if (IsHalfOf(there, here)) {
        largest->half_of = static_cast<std::size_t>(&other - found_.classes.data());
      }
    }
  }

  void SortOutliers() {
    std::sort(found_.outliers.begin(), found_.outliers.end(),
              [](const RankOutlier& a, const RankOutlier& b) {
                const std::int64_t x = Magnitude(a.above);
                const std::int64_t y = Magnitude(b.above);
                return x != y ? x > y : a.row < b.row;
              });
  }

  void NameStructure() {
    std::vector<std::pair<std::int64_t, std::size_t>> sequence;
    sequence.reserve(ranks_.size());
    for (std::size_t row = 0; row < ranks_.size(); ++row) {
      sequence.emplace_back(ranks_[row].rank, found_.class_of[row]);
    }
    found_.structure = FindStructure(sequence, found_.classes.size(), world_);
    const bool halves =
        found_.classes.size() == 2 &&
        std::any_of(found_.classes.begin(), found_.classes.end(),
                    [](const RankClass& of_class) { return of_class.half_of != kNoRow; });
    if (halves) {
      found_.structure.kind = RankPatternKind::kHalves;
    }
  }

  Ranks ranks_;
  std::int64_t world_;
  Tolerance tolerance_;
  RankClasses found_;
};

}  // namespace

std::vector<RowDifference> Differences(std::span<const RowBytes> here,
                                       std::span<const RowBytes> there, std::size_t most) {
  std::vector<RowDifference> rows;
  ForBoth(here, there, [&](std::uint64_t key, std::int64_t x, std::int64_t y) {
    if (x != y) {
      rows.push_back({.key = key, .here = x, .there = y, .between = SaturatingSubtract(x, y)});
    }
    return true;
  });
  const std::size_t kept = std::min(most, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
                    [](const RowDifference& a, const RowDifference& b) {
                      const std::int64_t x = Magnitude(a.between);
                      const std::int64_t y = Magnitude(b.between);
                      return x != y ? x > y : a.key < b.key;
                    });
  rows.resize(kept);
  return rows;
}

std::vector<std::pair<std::int64_t, std::int64_t>> MakeRanges(
    Ranks ranks, std::span<const std::size_t> members) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const std::size_t row : members) {
    const std::int64_t rank = ranks[row].rank;
    if (!ranges.empty() && SaturatingSubtract(rank, 1) == ranges.back().second) {
      ranges.back().second = rank;
    } else {
      ranges.emplace_back(rank, rank);
    }
  }
  return ranges;
}

RankClasses ClassifyRanks(Ranks ranks, std::int64_t world, const Tolerance& tolerance) {
  return Classifier(ranks, world, tolerance).Classify();
}

}  // namespace memtool
