// What keeps growing, over several inputs or over the steps of one history: a row for each row that
// grew, and findings derived from the series, with their figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/growth/growth.h"
#include "memtool/profile/growth/growth_history.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct LeaksQuery {
  By by;
  SortBy sort = SortBy::kFlat;
  bool all = false;  // also rows that stay the same
  // Order of several inputs. None = by time if all have one, else by name.
  std::optional<InputOrder> order;
  StepOptions steps{};                   // of one history
  std::optional<std::int64_t> capacity;  // bytes: after how many steps are they reached?
};

enum class FindingCode : std::uint8_t {
  kTooShort,      // the points are single events of a history, which tell nothing; no rows
  kOneStep,       // there are two points: what grew is a difference, not a trend; perhaps no rows
  kGrowing,       // evidence is strong
  kMaybe,         // evidence is weak, see Doubt
  kFreed,         // rises, but the history knows that all of it is freed later
  kGivenBack,     // rises while the total stays flat: others shrink by about as much
  kOneIteration,  // rises in parts of what may be one iteration, which is no trend
  kLate,          // did not grow at the beginning
  kLastJump,      // stepped up once, at the last step
  kJump,          // stepped up once, earlier
  kStopped,       // grew and stayed
  kLittle,        // goes on, but by so little that it never matters
  kConstant,      // is there, and does not change
};

// Shapes of growth that goes on.
enum class GrowthShape : std::uint8_t {
  kNone,
  kSteady,    // at every step
  kRepeated,  // again and again, though not at every step
  kRising,    // on the whole, with ups and downs
};

// Why growth may be chance.
enum class Doubt : std::uint8_t { kNone, kFewRises, kFewPoints, kChance };

struct FoundRow {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;        // 0 = none
  std::int64_t more_lines = 0;  // of the row, that hold something
  SharedText device;            // GrowthRow::device
};

// The part of an iteration that most of a group's growth belongs to, judged by who allocates.
enum class Phase : std::uint8_t { kUnknown, kBackward, kOptimizer };

// What rows have in common.
struct Finding {
  FindingCode code = FindingCode::kConstant;
  GrowthShape shape = GrowthShape::kNone;  // of kGrowing, kMaybe and kFreed
  std::vector<FoundRow> rows;              // in the order of the answer's rows
  // Growth of their sum; where rows include their callees, of the first row, which stands for all.
  Growth sum;
  double chance = 0;  // Growth::chance of the least certain row
  Doubt doubt = Doubt::kNone;
  // How many rows rise and fall, where that many add to the doubt; else 0.
  std::size_t among = 0;
  Phase phase = Phase::kUnknown;  // of kOneIteration
  // For jumps: the step (1 …) at which all jump; 0 = at different ones.
  std::size_t step = 0;
  // Of kGivenBack: the totals that stay between these.
  std::int64_t least = 0;
  std::int64_t most = 0;
};

enum class ReachCode : std::uint8_t {
  kReached,       // the last point holds the capacity
  kNotGrowing,    // all rows together do not keep growing
  kNever,         // growth slows, and leads to Growth::limit at most
  kAtLeast,       // growth slows: at least this many steps, if ever
  kAccelerating,  // steps, if each adds Growth::acceleration more than the one before
  kEven,          // steps, if each adds Growth::slope
};

// When the sum of all rows reaches a capacity. The sum counts, because one row may shrink while
// another grows. Of several devices, the first that does.
struct Reach {
  ReachCode code = ReachCode::kNotGrowing;
  std::int64_t capacity = 0;
  std::int64_t steps = 0;
  bool maybe = false;      // the evidence for growth is weak
  bool rows_grow = false;  // with kNotGrowing: some rows grow, others shrink or vary
  SharedText device;       // of several
  Growth whole;            // of the sum
};

// Where the points are steps of one history.
struct SteppedHistory {
  StepMeasure measure = StepMeasure::kEnd;
  std::string mark;  // whose marks the steps are
  StepsBy source = StepsBy::kParts;
  bool by_time = false;
  std::size_t devices = 0;
  std::size_t merged = 1;          // steps per point
  bool unfinished = false;         // a last mark without an end was left out
  std::size_t few_iterations = 0;  // see GrowthSeries: how many; 0 = enough of them
  bool of_log = false;             // its events are values that a log or a file of metrics has
};

struct LeaksAnswer {
  AnswerHead head{.question = "leaks"};
  By by;               // what rows stand for, after Metadata::default_by
  bool cum = false;    // rows include their callees: they do not add up
  InputOrder order{};  // of several inputs
  std::optional<SteppedHistory> history;
  std::vector<GrowthPoint> points;
  std::vector<GrowthRow> rows;    // growth that goes on first, then by slope; ties by name
  Growth whole;                   // of the points' totals
  std::int64_t total = 0;         // what all rows grew by, including those that are not listed
  std::vector<Finding> findings;  // what goes on first; kConstant is the last
  std::optional<Reach> reach{};   // for bytes, when the query has a capacity
  // Growth of the number of allocations of unknown size, which are in no sum; none = there are
  // none.
  std::optional<Growth> unknown{};
  bool saturated = false;

  [[nodiscard]] bool bytes() const { return head.unit == "bytes"; }
  // The points are parts of a history, as no steps are known.
  [[nodiscard]] bool in_parts() const { return history && history->source == StepsBy::kParts; }
};

// Names in JSON; empty for kNone and kUnknown.
std::string_view ToCode(GrowthKind kind);
std::string_view ToCode(GrowthDetail detail);
std::string_view ToCode(GrowthEvidence evidence);
std::string_view ToCode(GrowthShape shape);
std::string_view ToCode(FindingCode code);
std::string_view ToCode(Doubt doubt);
std::string_view ToCode(Phase phase);
std::string_view ToCode(ReachCode code);
std::string_view ToCode(InputOrder order);
std::string_view ToCode(StepMeasure measure);
std::string_view ToCode(StepsBy steps);
inline Value CodeValue(std::string_view code) {
  return code.empty() ? Value() : Value(code);
}

template <auto kMember>
Value OfGrowth(const GrowthRow& row) {
  return Value(row.growth.*kMember);
}

inline constexpr auto kLeaksFields = Fields<GrowthRow>({
    {"slope", "PER STEP", Unit::kAmount, &OfGrowth<&Growth::slope>,
     "by how much the row grows from step to step, as its trend says", kSigns},
    {"first", "FIRST", Unit::kAmount, &OfGrowth<&Growth::first>, "what it held in the first step",
     Drop(6)},
    {"last", "LAST", Unit::kAmount, &OfGrowth<&Growth::last>, "what it holds in the last step",
     Drop(5)},
    {"delta", "", Unit::kAmount, [](const GrowthRow& row) { return Value(row.growth.delta()); },
     "LAST minus FIRST"},
    {"fit", "FIT", Unit::kRatio, &OfGrowth<&Growth::fit>,
     "how well a straight line fits the series, 1 = exactly", Drop(8), "number|null"},
    {"name", "WHERE", Unit::kText, &GrowthRow::name,
     "the function, or whatever else --by makes rows of"},
    {"file", "PLACE", Unit::kText, &GrowthRow::file, "the file that the name is in",
     Drop(1) | kPath},
    {"line", "", Unit::kOrdinal, [](const GrowthRow& row) { return LineValue(row.line); },
     "the line in that file that grows most"},
    {"more_lines", "", Unit::kCount, &GrowthRow::more_lines,
     "other lines of the row that hold something", kPlain, "natural"},
    {"via", "VIA", Unit::kText, &GrowthRow::via,
     "the call into a framework under which frames are hidden", Drop(9)},
    {"device", "DEVICE", Unit::kText, [](const GrowthRow& row) { return CodeValue(row.device); },
     "of several devices, the only one that moves the row", Drop(2), "string|null"},
    {"kind", "KIND", Unit::kText,
     [](const GrowthRow& row) { return CodeValue(ToCode(row.growth.kind)); }, "how it grows",
     Drop(2) | kFixed, R"("constant"|"steady"|"stepwise"|"shrinking"|"noisy")"},
    {"detail", "", Unit::kText,
     [](const GrowthRow& row) { return CodeValue(ToCode(row.growth.detail)); },
     "more about how it grows", kPlain,
     R"("even"|"accelerating"|"slowing"|"uneven"|"once"|"stopped"|"late"|"repeated"|)"
     R"("rising"|"falling"|"level"|null)"},
    {"steps", "", Unit::kCount, &OfGrowth<&Growth::steps>, "how many steps the series has", kPlain,
     "natural"},
    {"grew", "GREW", Unit::kCount, &OfGrowth<&Growth::grew>, "after how many steps it was larger",
     Drop(7), "natural"},
    {"shrank", "", Unit::kCount, &OfGrowth<&Growth::shrank>, "after how many steps it was smaller",
     kPlain, "natural"},
    {"least_step", "", Unit::kAmount, &OfGrowth<&Growth::min_step>,
     "the smallest change from a step to the next"},
    {"most_step", "", Unit::kAmount, &OfGrowth<&Growth::max_step>,
     "the largest change from a step to the next"},
    {"bend", "", Unit::kAmount, &OfGrowth<&Growth::acceleration>,
     "by how much the growth itself changes per step"},
    {"limit", "", Unit::kAmount, &OfGrowth<&Growth::limit>,
     "what a growth that slows down comes to", kPlain, "integer|null"},
    {"evidence", "", Unit::kText,
     [](const GrowthRow& row) { return CodeValue(ToCode(row.growth.evidence)); },
     "how sure it is that the row grows", kPlain, R"("weak"|"strong"|"freed"|null)"},
    {"chance", "", Unit::kRatio,
     [](const GrowthRow& row) {
       const Growth& growth = row.growth;
       return growth.grew > 0 && growth.steps > 1 ? Value(growth.chance) : Value();
     },
     "how likely a series without a trend would rise as much", kPlain, "number|null"},
    {"kept", "", Unit::kAmount,
     [](const GrowthRow& row) { return row.retained ? Value(row.retained->bytes) : Value(); },
     "bytes that were allocated in a step and never freed", kPlain, "integer|null"},
    {"kept_steps", "KEPT", Unit::kCount,
     [](const GrowthRow& row) { return row.retained ? Value(row.retained->steps) : Value(); },
     "in how many steps something was allocated that was never freed", Drop(7), "integer|null"},
    {"unknown_first", "", Unit::kCount,
     [](const GrowthRow& row) {
       return Value(row.unknown.empty() ? std::int64_t{0} : row.unknown.front());
     },
     "allocations of unknown size in the first step", kPlain, "natural"},
    {"unknown_last", "", Unit::kCount,
     [](const GrowthRow& row) {
       return Value(row.unknown.empty() ? std::int64_t{0} : row.unknown.back());
     },
     "allocations of unknown size in the last step", kPlain, "natural"},
    {"series", "SHAPE", Unit::kNested,
     [](const GrowthRow& row) { return Value(Value::List(row.series.begin(), row.series.end())); },
     "what the row holds, step by step", Drop(3) | kLeft, "integer[]"},
});

// The figures besides the rows. "verdict" is a list of codes: whether anything grows, then what was
// found.
std::vector<NamedValue> MakeFigures(const LeaksAnswer& answer);
AnswerView MakeView(const LeaksAnswer& answer);

// Joins several inputs, one after the other and in any order; each is one point.
class LeaksMaker {
 public:
  explicit LeaksMaker(LeaksQuery query) : query_(std::move(query)) {}
  void Add(const Selection& selection);
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  // Errors: kUsage for fewer than two inputs, and for an order by time when not all have one or all
  // have the same.
  Result<LeaksAnswer> Make() &&;

 private:
  LeaksQuery query_;
  AnswerHead head_{.question = "leaks"};
  NodeSpace space_;
  GrowthTable table_;
  KeyMap<NodeId, NodeId> row_of_line_;
  bool saturated_ = false;
};

Result<LeaksAnswer> Leaks(std::span<const Selection> selections, LeaksQuery query = {});
// Over the steps of one history. `view`: of the index's recording; `name`: the input's. Errors:
// those of GrowthOfHistory.
Result<LeaksAnswer> LeaksOfHistory(const HistoryIndex& index, const View& view,
                                   std::string_view name, const LeaksQuery& query);
// From a series that is judged already (JudgeAndSort). Its unit is the head's.
LeaksAnswer LeaksOfSeries(GrowthSeries series, AnswerHead head, const LeaksQuery& query);

}  // namespace memtool
