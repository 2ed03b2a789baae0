// What a command found, before anyone decides how it looks: commands make a Report, writers print
// it, and writers never compute.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/recording.h"

namespace memtool::commands {

// A size in bytes or a plain count; printed for people by the report's unit.
struct Amount {
  std::int64_t value = 0;
  bool bytes = true;
  bool sign = false;  // always with + or -
};
struct Percent {
  double ratio = 0;  // 0.25 = 25 %
  bool sign = false;
};

// A rendered JSON value: a list inside a row. Only for columns without a title.
struct RawJson {
  std::string text;
};

// monostate = null: unknown, or not applicable.
using Cell = std::variant<std::monostate, std::string, std::int64_t, Amount, Percent, RawJson>;

struct Column {
  std::string_view key;    // in JSON and CSV; empty = only in tables
  std::string_view title;  // in tables; empty = only in JSON and CSV
  bool left = false;       // alignment in tables
  bool shrink = false;     // may be cut to fit a terminal
  int drop = 0;            // may be left out to fit a terminal, the highest first; 0 = never
  bool lines = false;      // a cell is lines of text joined by '\n', indented from the second on
  bool wrap = false;       // goes on in further lines instead; only the last column
};

struct ReportInput {
  std::string path;
  std::string format;
  std::string moment = "end";
  // More members of the input's JSON object: key and rendered JSON.
  std::vector<std::pair<std::string, std::string>> details{};
};

// Gives one row a call, until it returns false.
using NextCells = std::function<bool(std::vector<Cell>&)>;

struct Report {
  std::string_view command;  // "top" → schema memtool.top/1
  std::vector<ReportInput> inputs;
  std::string sample_type;
  std::string unit;
  std::vector<std::pair<std::string, Cell>> totals;  // JSON keys beside the rows, in order
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // all of them; printing cuts
  // Reports too long to hold: begins a pass over further rows, which no limit cuts. Writers of
  // tables make two passes, the first for the widths of columns.
  std::function<NextCells()> further;
  std::uint64_t unmade_rows = 0;   // what a limit kept from being made at all
  std::int64_t unmade_amount = 0;  // what their column of measure sums to
  std::size_t measure = 0;         // the column whose bytes the cut rows are summed by
  bool row_unit = false;           // one unit per row (comparisons) instead of per cell
  // Where blocks of rows begin, for reports that choose whole blocks by themselves; a limit on rows
  // does not cut these.
  std::vector<std::size_t> blocks;
  std::vector<std::string> head;  // lines above a table
  std::vector<std::string> foot;  // lines below it
  std::vector<Diagnostic> diagnostics;
};

// Every row that is to be printed, in order.
template <class Visit>
void ForEachRow(const Report& report, std::size_t limit, Visit visit) {
  const std::size_t held = limit == 0 ? report.rows.size() : std::min(limit, report.rows.size());
  for (std::size_t r = 0; r < held; ++r) {
    visit(report.rows[r]);
  }
  if (report.further) {
    std::vector<Cell> row;
    for (const NextCells next = report.further(); next(row);) {
      visit(row);
    }
  }
}

}  // namespace memtool::commands
