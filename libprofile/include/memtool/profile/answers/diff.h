// What grew between a base and new inputs: rows by function, line, label …, the largest change
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/rows/diff.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// How much the total may grow. With neither there is no gate.
struct GrowthLimit {
  std::optional<double> ratio;         // of the base: 0.05 = 5 %
  std::optional<std::int64_t> amount;  // in the unit of the answer
};

enum class GrowthGate : std::uint8_t { kNone, kWithin, kExceeded };

struct DiffQuery {
  By by;
  SortBy sort = SortBy::kFlat;
  bool normalize = false;        // scale the new inputs to the base's total
  std::size_t through_rows = 0;  // for how many rows to work out DiffRow::through; 0 = all
  GrowthLimit limit;
};

// What holds as much memory on one side as on the other, and the largest such row.
struct DiffUnchanged {
  std::int64_t amount = 0;
  std::size_t rows = 0;
  std::optional<DiffRow> largest;  // none where rows == 0
};

// Amounts are in the unit of the answer.
struct DiffAnswer {
  AnswerHead head{.question = "diff"};  // inputs: the bases, then the new ones
  By by;                                // what rows stand for, after Metadata::default_by
  SortBy sort = SortBy::kFlat;
  std::vector<DiffRow> rows;  // those that changed; DiffRow::node is of no use here
  DiffUnchanged unchanged;
  std::int64_t base_total = 0;
  std::int64_t new_total = 0;
  std::int64_t total = 0;  // new minus base
  double growth = 0;       // total / base, see GrowthRatio
  std::int64_t unknown_base = 0;
  std::int64_t unknown_new = 0;
  bool saturated = false;
  std::int64_t grew = 0;  // rows by the sign of their flat delta, and by their status
  std::int64_t shrank = 0;
  std::int64_t new_rows = 0;
  std::int64_t gone_rows = 0;
  GrowthGate gate = GrowthGate::kNone;
};

// delta / |base|: 0.25 = a quarter more. Infinite where the base is 0.
double GrowthRatio(std::int64_t base, std::int64_t delta);
// "new", "gone", "changed", "unchanged"
std::string_view DiffStatusName(DiffStatus status);

inline constexpr auto kDiffFields = Fields<DiffRow>({
    {"base", "BASE", Unit::kAmount, [](const DiffRow& row) { return Value(row.base.flat); },
     "what the row held in the base", Drop(3)},
    {"new", "NEW", Unit::kAmount, [](const DiffRow& row) { return Value(row.now.flat); },
     "what the row holds now", Drop(2)},
    {"delta", "DELTA", Unit::kAmount, [](const DiffRow& row) { return Value(row.delta()); },
     "NEW minus BASE", kSigns},
    {"delta_share", "DELTA%", Unit::kRatio, kInWords, "DELTA as a share of BASE", Drop(5) | kSigns},
    {"base_cum", "BASE CUM", Unit::kAmount, [](const DiffRow& row) { return Value(row.base.cum); },
     "what the row and everything that it calls held in the base", Drop(3)},
    {"new_cum", "NEW CUM", Unit::kAmount, [](const DiffRow& row) { return Value(row.now.cum); },
     "what the row and everything that it calls hold now", Drop(2)},
    {"delta_cum", "DELTA CUM", Unit::kAmount,
     [](const DiffRow& row) { return Value(row.delta_cum()); }, "NEW CUM minus BASE CUM", kSigns},
    {"name", "WHERE", Unit::kText, &DiffRow::name,
     "the function, or whatever else --by makes rows of"},
    {"file", "PLACE", Unit::kText, &DiffRow::file, "the file that the name is in", Drop(1) | kPath},
    {"line", "", Unit::kOrdinal, [](const DiffRow& row) { return LineValue(row.line); },
     "the line in that file that holds most"},
    {"more_lines", "", Unit::kCount, &DiffRow::more_lines,
     "other lines of the row that hold something", kPlain, "natural"},
    {"via", "VIA", Unit::kText, &DiffRow::via,
     "the call into a framework under which frames are hidden", Drop(8)},
    {"through", "THROUGH", Unit::kText, &DiffRow::through,
     "the caller through which most of the change came", Drop(6)},
    {"status", "STATUS", Unit::kText,
     [](const DiffRow& row) { return Value(DiffStatusName(row.status)); },
     "whether the row is on one side only", Drop(7), R"("new"|"gone"|"changed")"},
});

AnswerView MakeView(const DiffAnswer& answer);

// All inputs of a side count as one. Both sides have one input at least.
DiffAnswer Diff(const std::vector<Selection>& bases, std::vector<Selection> news,
                const DiffQuery& query);

}  // namespace memtool
