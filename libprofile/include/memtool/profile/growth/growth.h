// What grows over a series of inputs, or over the steps of one history, and how: how one series of
// numbers is judged, and the table that joins the rows of several inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/model/history.h"
#include "memtool/profile/rows/table.h"

namespace memtool {

// Points are values at successive moments; the steps lie between them.
enum class GrowthKind : std::uint8_t {
  kConstant,
  kSteady,     // more after every step, and there are at least two
  kStepwise,   // never less, but not more after every step; also a single rising step
  kShrinking,  // never more
  kNoisy,      // more after some steps and less after others
};

enum class GrowthDetail : std::uint8_t {
  kNone,
  // Of steady growth. Even: steps differ by a tenth of their mean at most.
  kEven,
  kAccelerating,  // three steps or more, none adds less than the one before
  kSlowing,       // the other way round
  kUneven,
  // Of stepwise growth, by the thirds of the steps (halves when there are fewer than six) in which
  // something was added.
  kOnce,      // in one step only, wherever it is; start-up looks like this, and it is no trend
  kStopped,   // nothing in the last
  kLate,      // nothing in the first
  kRepeated,  // in all, or in all but the middle
  // Of noise. Rising: at most kPerhaps of series without a trend rise as much (ChanceOfRise, with
  // the cycle that FindCycle finds), and LowsRise, and without such a cycle at most kHalves as much
  // from the first half to the second, point by point. Falling: so the other way round.
  kRising,
  kFalling,
  kLevel,
};

// How sure it is that growth goes on, for the shapes that can: steady, repeated and rising.
enum class GrowthEvidence : std::uint8_t {
  kNone,  // another shape, or a noisy rise such as one row among so many shows by chance
  // Perhaps chance: more than kSure of series without a trend rise as much, as in any series of
  // fewer than five points. Also a stepwise series with fewer than three rises.
  kWeak,
  kStrong,
  kFreed,  // a trend, but the history shows that all of it is freed later
};

// Shares of series without a trend that rise as much by chance (ChanceOfRise).
inline constexpr double kSure = 0.01;     // 5 points that rise at every step: 1 of 120; 4: 1 of 24
inline constexpr double kPerhaps = 0.05;  // enough with never-freed bytes (Kept)
// two cycles rise within each half, but not from one to the other
inline constexpr double kHalves = 0.2;
inline constexpr std::size_t kMinRises = 3;
// How many noisy rows (with as much kept) may be expected to rise so by chance: the share times
// their number, at most, for strong and for weak evidence. (Bonferroni's inequality.)
inline constexpr double kSureOfAll = 0.05;
inline constexpr double kPerhapsOfAll = 0.25;

// Bytes allocated during the steps of a history and never freed.
struct Retained {
  std::int64_t bytes = 0;
  std::size_t steps = 0;  // in how many steps
  // In how many of the first two thirds. What is kept in the last third may be the last iteration's
  // own. With kMinRises of them, noise that rises by kPerhaps is strong evidence.
  std::size_t early_steps = 0;

  [[nodiscard]] bool recurring() const { return early_steps >= kMinRises; }
};

struct Growth {
  GrowthKind kind = GrowthKind::kConstant;
  GrowthDetail detail = GrowthDetail::kNone;
  std::int64_t first = 0;
  std::int64_t last = 0;
  // Of the least-squares line, per step, rounded to a whole number; computed exactly, so that a
  // linear series has exactly its own slope and a constant one has 0.
  std::int64_t slope = 0;
  // The share of the variance that this line explains (R²), to six digits; none for a constant
  // and for a single step.
  std::optional<double> fit;
  std::int64_t min_step = 0;  // smallest and largest increment
  std::int64_t max_step = 0;
  std::int64_t acceleration = 0;   // mean second difference; 0 for one step
  bool even_acceleration = false;  // all second differences are equal
  std::size_t steps = 0;           // points - 1
  std::size_t grew = 0;            // in how many of the steps
  std::size_t shrank = 0;
  std::size_t last_rise = 0;  // the last step that grew, from 1; 0 = none
  std::int64_t last_step = 0;
  // For slowing growth in which the ratio of a step to the one before never rises (by more than a
  // hundredth): the value that a geometric series with the largest such ratio leads to.
  std::optional<std::int64_t> limit;
  GrowthEvidence evidence = GrowthEvidence::kNone;
  // The share of series without a trend that rise as much, to nine digits; 1 where nothing rises.
  double chance = 1;

  [[nodiscard]] std::int64_t delta() const { return SaturatingSubtract(last, first); }
  [[nodiscard]] bool is_trend() const { return evidence == GrowthEvidence::kStrong; }
};

// `series`: 1 to kMaxPoints values. `kept`: only known for histories.
inline constexpr std::size_t kMaxPoints = 1U << 20U;
Growth JudgeGrowth(std::span<const std::int64_t> series,
                   const std::optional<Retained>& retained = {});

struct RowPart;  // row_parts.h

struct GrowthRow {
  SharedText name;
  SharedText file;              // empty where a row has no place
  std::int64_t line = 0;        // 0 likewise
  std::int64_t more_lines = 0;  // Place::more
  SharedText via;
  SharedText device;                  // the only one that moves it; empty: all do, or there is one
  std::vector<std::int64_t> series;   // one value per point
  std::vector<std::int64_t> unknown;  // allocations of unknown size, per point
  Growth growth;
  std::optional<Retained> retained;  // of a history
};

struct GrowthPoint {
  std::string name;             // the input or the step
  std::int64_t time = kNoTime;  // ns since the epoch, where the input reports
  std::int64_t event = -1;      // of a step: the last event of the first device
  std::int64_t total = 0;
  std::int64_t unknown = 0;
};

// One device of several.
struct GrowthDevice {
  SharedText name;
  std::vector<std::int64_t> totals;  // per point
  Growth whole;                      // of these
};

struct GrowthSeries {
  std::vector<GrowthPoint> points;
  std::vector<GrowthDevice> devices;  // empty where there is one
  std::vector<GrowthRow> rows;        // growth that goes on first, then by slope; ties by name
  Growth whole;                       // of the points' totals; keeps what its rows keep
  std::size_t noisy = 0;              // rows that rise and fall
  // The points are parts of a history in which nothing shows three iterations or more: as far as
  // is known, any rise is within one iteration or two, and evidence is weak at most.
  bool few_iterations = false;
  // The points are single events of a history: growth cannot be told from anything else.
  bool single_events = false;
};

// Judges the whole and every row, taking into account how many rows rise and fall, and sorts.
void JudgeAndSort(GrowthSeries& series);

enum class InputOrder : std::uint8_t {
  kName,   // memory2 before memory10
  kTime,   // when they were taken; ties by name
  kGiven,  // as on the command line
};

// Joins the rows of several inputs. Inputs may come in any order.
class GrowthTable {
 public:
  // `rows`: of a Tabulator over the NodeSpace that all inputs share.
  void Add(GrowthPoint point, std::vector<Row> rows) {
    std::map<std::string, std::vector<Row>> of_all;
    of_all.emplace("", std::move(rows));
    AddDevices(std::move(point), std::move(of_all));
  }
  // The same of each device.
  void AddDevices(GrowthPoint point, std::map<std::string, std::vector<Row>> rows);
  [[nodiscard]] std::size_t size() const { return inputs_.size(); }
  // True when every input has a time and they are not all the same.
  [[nodiscard]] bool HasTimes() const;
  // The series in that order, judged; the table is empty afterwards. `sort`: whether values are
  // flat or cumulative; flat ones sum to the points' totals. `row_of_line`: where rows were added
  // line by line, which row each belongs to (JoinParts).
  GrowthSeries Finish(InputOrder order, SortBy sort,
                      const KeyMap<NodeId, NodeId>& row_of_line = {});

 private:
  [[nodiscard]] std::vector<SharedText> Devices() const;
  std::vector<RowPart> TakeParts(SortBy sort, std::span<const SharedText> devices,
                                 const KeyMap<NodeId, NodeId>& row_of_line);

  struct OneInput {
    GrowthPoint point;
    std::map<std::string, std::vector<Row>> rows;  // by device
  };
  std::vector<OneInput> inputs_;
};

}  // namespace memtool
