// Rows of an answer as people read them: tabulate.h fills a TextTable, table_writer.cc prints it at
// any width, as text or as markdown. Data formats are written from the answer (answers/write.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/base/variant.h"
#include "memtool/profile/model/recording.h"
#include "output/text/palette.h"

namespace memtool::commands {

// A size in bytes or a plain count; printed for people by the table's unit.
struct Amount {
  std::int64_t value = 0;
  bool bytes = true;
  bool sign = false;  // always with + or -
};
struct Percent {
  double ratio = 0;  // 0.25 = 25 %
  bool sign = false;
};

// monostate = null: unknown, or not applicable.
using Cell = Variant<std::monostate, std::string, std::int64_t, Amount, Percent>;

struct Column {
  std::string_view title;  // empty = not shown
  bool left = false;       // alignment
  bool shrink = false;     // a name: may be cut in its middle to fit a terminal
  // The order in which columns are left out to fit a terminal, the highest first; 0 = never, for
  // what the command is about.
  int drop = 0;
  std::size_t room = 0;       // if it shrinks: width below which others give way; 0 = as for a name
  bool path = false;          // if it shrinks: cut from the left
  bool lines = false;         // a cell is lines of text joined by '\n', indented from the second on
  bool wrap = false;          // wraps into further lines instead; only the last column
  bool off = false;           // shown only where --columns asks for it
  bool growth = false;        // amounts and shares with a sign: coloured by it
  bool colored = false;       // has the row's colour
  std::string_view key = {};  // what --columns may call it besides its title
};

struct TextTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // all of them; printing cuts
  // Tables too long to hold: begins a pass over rows that are made and follow `rows`; no limit cuts
  // them. Writers of tables make two passes, the first for the widths of columns: it says which it
  // has `known`, per column, and cells that are no wider may be null.
  std::function<RowStream<std::vector<Cell>>(std::span<const std::size_t> known)> stream;
  std::uint64_t skipped_rows = 0;   // rows never created because of a row limit
  std::int64_t skipped_amount = 0;  // the sum of their measure column
  std::size_t measure = 0;          // the column whose bytes the cut rows are summed by
  bool row_unit = false;            // one unit per row (comparisons) instead of per cell
  // Where blocks of rows begin, for tables that choose whole blocks by themselves; a limit on rows
  // does not cut these.
  std::vector<std::size_t> blocks;
  std::vector<Ink> row_inks;     // of `rows`; may be shorter
  Ink verdict_ink = Ink::kNone;  // of the first line above the table
  // The column with places, and where each of `rows` is: "/home/a/train.py:20".
  std::size_t place_column = 0;
  std::vector<std::string> places;
  std::vector<std::string> head;  // lines above a table
  std::vector<std::string> foot;  // lines below it
  // More of them that explain a column, by its title: only where it is shown.
  std::vector<std::pair<std::string_view, std::string>> column_notes;
};

// Every row that is to be printed, in order. `known`: see TextTable::stream.
template <class Visit>
void ForEachRow(const TextTable& table, std::size_t limit, Visit visit,
                std::span<const std::size_t> known = {}) {
  for (const auto next = StreamRows(std::span(table.rows), limit); const auto* row = next();) {
    visit(*row);
  }
  if (table.stream) {
    for (const auto next = table.stream(known); const auto* row = next();) {
      visit(*row);
    }
  }
}

}  // namespace memtool::commands
