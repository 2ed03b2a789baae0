// Rows of an answer → the rows of a table. A column is a field of the answer, or words that the
// command adds; only rows that will be printed are made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "output/text_table.h"

namespace memtool::commands {

// The width that a cell with a name and its place needs, "forward linear.py:5".
inline constexpr std::size_t kRoomForPlaces = 24;

template <class Row>
struct TableColumn {
  Column style;
  std::function<Cell(const Row&)> get;
  // Of a table that is streamed: a width that the cell does not exceed, said without making it.
  std::function<std::size_t(const Row&)> at_most = {};
};

// The cell that shows a value of this unit; `bytes`: whether amounts of the answer are bytes.
Cell CellOf(const Value& value, Unit unit, bool bytes, bool sign = false);

// How a table shows a declared field: its title, and its values by their unit.
template <class Row>
TableColumn<Row> ColumnOf(const Field<Row>& field, bool bytes, bool sign = false) {
  const bool text = field.unit == Unit::kText || field.unit == Unit::kAddress;
  return {.style = {.title = field.title, .left = text, .shrink = text, .key = field.key},
          .get = [field, bytes, sign](const Row& row) {
            return CellOf(field.Of(row), field.unit, bytes, sign);
          }};
}

template <class Row, std::size_t kCount>
const Field<Row>& FieldNamed(const std::array<Field<Row>, kCount>& fields, std::string_view key) {
  return *std::find_if(fields.begin(), fields.end(),
                       [key](const Field<Row>& field) { return field.key == key; });
}

// Fills columns and rows of `table` with the first `limit` of `rows` (0 = all). `measure`: the
// column whose amounts say how much lies in the rows that the limit cuts.
template <class Row>
void Tabulate(const std::vector<Row>& rows, const std::vector<TableColumn<Row>>& columns,
              std::size_t limit, std::size_t measure, TextTable& table) {
  for (const TableColumn<Row>& column : columns) {
    table.columns.push_back(column.style);
  }
  table.measure = measure;
  const std::size_t made = limit == 0 ? rows.size() : std::min(limit, rows.size());
  for (const Row& row : std::span(rows).first(made)) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const TableColumn<Row>& column : columns) {
      cells.push_back(column.get(row));
    }
  }
  table.unmade_rows += rows.size() - made;
  for (const Row& row : std::span(rows).subspan(made)) {
    if (const auto cell = columns[measure].get(row);
        const auto* amount = std::get_if<Amount>(&cell)) {
      table.unmade_amount = SaturatingAdd(table.unmade_amount, amount->value);
    }
  }
}

}  // namespace memtool::commands
