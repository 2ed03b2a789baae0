// What holds the memory: rows by function, line, file, label …, largest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct TopQuery {
  By by;
  SortBy sort = SortBy::kFlat;
  // For histories at their peak: for how many rows to work out peak_without; 0 = all.
  std::size_t peak_rows = 0;
  bool peak_with_callees = true;  // peak_without_cum too, which takes as long again
};

// Amounts are in the unit of the answer.
struct TopRow {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;        // 0 = none
  std::int64_t more_lines = 0;  // Place::more
  std::int64_t flat = 0;        // a difference where a base was subtracted
  std::int64_t cum = 0;
  SharedText via;  // the call into a framework, when frames were hidden
  std::int64_t unknown = 0;
  std::int64_t unknown_cum = 0;
  // How high the whole run's peak would be without what the row itself allocated, and without what
  // it and all that it calls allocated; at a peak only.
  std::optional<std::int64_t> peak_without{};
  std::optional<std::int64_t> peak_without_cum{};
};

struct TopAnswer {
  AnswerHead head{.question = "top"};
  By by;  // what rows stand for, after Metadata::default_by
  std::vector<TopRow> rows;
  std::int64_t total = 0;       // signed sum of the rows; with a base, the difference
  std::int64_t unfiltered = 0;  // what shares are of; with a base, the base's
  std::int64_t total_abs = 0;
  std::int64_t unknown = 0;
  bool saturated = false;
  std::optional<std::int64_t> new_total{};   // with a base: of the inputs
  std::optional<std::int64_t> base_total{};  // with a base
  std::optional<std::int64_t> peak{};        // where rows have peak_without: the whole run's
};

inline constexpr auto kTopFields = Fields<TopRow>({
    {"flat", "FLAT", Unit::kAmount, &TopRow::flat, "what the row itself holds"},
    {"flat_share", "FLAT%", Unit::kRatio, kInWords, "FLAT as a share of everything, before filters",
     Drop(4)},
    {"peak_without", "", Unit::kAmount, &TopRow::peak_without,
     "the peak of the whole run, had the row allocated nothing", kPlain, "integer|null?"},
    {"peak_without_cum", "", Unit::kAmount, &TopRow::peak_without_cum,
     "the same without what the row calls, too", kPlain, "integer|null?"},
    {"saves", "SAVES", Unit::kAmount, kInWords,
     "how much the peak of the whole run would fall without the row (with --cum: and "
     "what it calls)",
     Drop(2)},
    {"cum", "CUM", Unit::kAmount, &TopRow::cum, "what the row and everything that it calls hold",
     Drop(3)},
    {"cum_share", "CUM%", Unit::kRatio, kInWords, "CUM as a share of everything, before filters",
     Drop(5)},
    {"name", "WHERE", Unit::kText, &TopRow::name,
     "the function, or whatever else --by makes rows of"},
    {"file", "PLACE", Unit::kText, &TopRow::file, "the file that the name is in", Drop(1) | kPath},
    {"line", "", Unit::kOrdinal, [](const TopRow& row) { return LineValue(row.line); },
     "the line in that file that holds most"},
    {"more_lines", "", Unit::kCount, &TopRow::more_lines,
     "other lines of the row that hold something", kPlain, "natural"},
    {"via", "VIA", Unit::kText, &TopRow::via,
     "the call into a framework under which frames are hidden", Drop(6)},
    {"unknown", "", Unit::kCount, &TopRow::unknown,
     "allocations of the row whose size nobody wrote down; they are in no sum"},
    {"unknown_cum", "", Unit::kCount, &TopRow::unknown_cum, "the same with what the row calls"},
});

AnswerView MakeView(const TopAnswer& answer);

// Adds up any number of inputs, one after the other; those with a history are kept until the end.
class TopMaker {
 public:
  explicit TopMaker(TopQuery query);
  // `process`: see Input.
  void Add(Selection selection, std::string_view process = {});
  // What is subtracted, after all inputs.
  void AddBase(const Selection& selection);
  TopAnswer Make() &&;

 private:
  void AddPeaks(std::vector<Row>& rows, TopAnswer& answer);
  TopAnswer AgainstBase();

  TopQuery query_;
  AnswerHead head_{.question = "top"};
  NodeSpace space_;
  Tabulator table_;
  std::optional<Tabulator> base_;
  std::vector<Selection> histories_;
};

TopAnswer Top(Selection selection, TopQuery query = {});

}  // namespace memtool
