// Rows of an answer → the rows of a table. A column is a declared field of the answer, whose cells
// the command may put into words; only rows that will be printed are made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "output/text_table.h"

namespace memtool::commands {

template <class Row>
struct TableColumn {
  Column style;
  std::function<Cell(const Row&)> get;
  // Of a table that is streamed: a width that the cell does not exceed, said without making it.
  std::function<std::size_t(const Row&)> at_most = {};
  // Of a column with places: the whole path and the line.
  std::function<std::string(const Row&)> place = {};
};

// The cell that shows a value of this unit; `bytes`: whether amounts of the answer are bytes.
Cell MakeCell(const Value& value, Unit unit, bool bytes, bool sign = false);
// The cell of a text: its two ends, where no more of it can be seen.
Cell MakeCell(std::string_view text, const Layout& layout);
// How a table shows a declared field.
Column MakeColumn(const FieldInfo& field);

template <class Row>
TableColumn<Row> MakeColumn(const Field<Row>& field, bool bytes) {
  return {.style = MakeColumn(field.Info()), .get = [field, bytes](const Row& row) {
            if (const SharedText* text = field.get.SharedOf(row)) {
              return MakeCell(text->view(), field.layout);
            }
            Cell cell = MakeCell(field.Of(row), field.unit, bytes, field.layout.signs);
            const bool unknown =
                field.layout.unknown && std::holds_alternative<std::monostate>(cell);
            return unknown ? Cell(std::string(kUnknownWord)) : cell;
          }};
}

// The columns of a table, from the declaration of its answer.
template <class Row>
class TableColumns {
 public:
  // Those that have a title, or those with these keys in this order. `bytes`: whether amounts of
  // the answer are bytes.
  TableColumns(std::span<const Field<Row>> fields, bool bytes,
               std::initializer_list<std::string_view> keys = {}) {
    for (const Field<Row>& field : fields) {
      if (keys.size() == 0 && !field.title.empty()) {
        columns_.push_back(MakeColumn(field, bytes));
      }
    }
    for (const std::string_view key : keys) {
      columns_.push_back(MakeColumn(*std::find_if(fields.begin(), fields.end(),
                                                  [key](const auto& f) { return f.key == key; }),
                                    bytes));
    }
  }

  TableColumn<Row>& operator[](std::string_view key) {
    return *std::find_if(columns_.begin(), columns_.end(),
                         [key](const TableColumn<Row>& column) { return column.style.key == key; });
  }
  [[nodiscard]] std::size_t IndexOf(std::string_view key) const {
    return static_cast<std::size_t>(
        std::find_if(columns_.begin(), columns_.end(),
                     [key](const TableColumn<Row>& column) { return column.style.key == key; }) -
        columns_.begin());
  }
  void KeepIf(bool kept, std::string_view key) {
    std::erase_if(columns_, [kept, key](const TableColumn<Row>& column) {
      return !kept && column.style.key == key;
    });
  }
  // Where --cum makes one more important than the other.
  void SwapDrops(std::string_view one, std::string_view other) {
    std::swap((*this)[one].style.drop, (*this)[other].style.drop);
  }
  [[nodiscard]] const std::vector<TableColumn<Row>>& all() const { return columns_; }
  std::vector<TableColumn<Row>>& all() { return columns_; }

 private:
  std::vector<TableColumn<Row>> columns_;
};

// Fills columns and rows of `table` with the first `limit` of `rows` (0 = all). `measure`: the
// column whose amounts say how much lies in the rows that the limit cuts.
template <class Row>
void Tabulate(const std::vector<Row>& rows, const std::vector<TableColumn<Row>>& columns,
              std::size_t limit, std::size_t measure, TextTable& table) {
  for (const TableColumn<Row>& column : columns) {
    table.place_column = column.place ? table.columns.size() : table.place_column;
    table.columns.push_back(column.style);
  }
  table.measure = measure;
  const std::size_t made = limit == 0 ? rows.size() : std::min(limit, rows.size());
  for (const Row& row : std::span(rows).first(made)) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const TableColumn<Row>& column : columns) {
      cells.push_back(column.get(row));
      if (column.place) {
        table.places.push_back(column.place(row));
      }
    }
  }
  table.skipped_rows += rows.size() - made;
  for (const Row& row : std::span(rows).subspan(made)) {
    if (const auto cell = columns[measure].get(row);
        const auto* amount = std::get_if<Amount>(&cell)) {
      table.skipped_amount = SaturatingAdd(table.skipped_amount, amount->value);
    }
  }
}

// The same for rows that are too many to hold: they are made one by one as they are written.
// `begin` begins a pass over them, and is called for each pass that a writer makes.
template <class Begin, class Row>
void TabulateStream(Begin begin, std::vector<TableColumn<Row>> columns, TextTable& table) {
  for (const TableColumn<Row>& column : columns) {
    table.columns.push_back(column.style);
  }
  table.stream = [begin = std::move(begin),
                  columns = std::move(columns)](std::span<const std::size_t> known) {
    return RowStream<std::vector<Cell>>([next = begin(), columns, known,
                                         cells = std::vector<Cell>(columns.size())]() mutable {
      const Row* row = next();
      for (std::size_t i = 0; row != nullptr && i < columns.size(); ++i) {
        const TableColumn<Row>& column = columns[i];
        const bool measured = !known.empty() && column.at_most && column.at_most(*row) <= known[i];
        cells[i] = measured ? Cell() : column.get(*row);
      }
      return row == nullptr ? nullptr : &cells;
    });
  };
}

}  // namespace memtool::commands
