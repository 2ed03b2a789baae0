// Rows of an answer that are too many to hold → the rows of a table, made one by one as they are
// written; what tabulate.h does for those that are held.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "output/tabulate.h"

namespace memtool::commands {

// Makes one row per call, until it returns false.
template <class Row>
using NextOf = std::function<bool(Row&)>;

// Fills the columns of `table` and lets it pull rows: `begin` starts a pass over them, and is
// called for each pass that a writer makes.
template <class Row>
void TabulateStream(std::function<NextOf<Row>()> begin, std::vector<TableColumn<Row>> columns,
                    TextTable& table) {
  for (const TableColumn<Row>& column : columns) {
    table.columns.push_back(column.style);
  }
  table.further = [begin = std::move(begin),
                   columns = std::move(columns)](std::span<const std::size_t> known) -> NextCells {
    return [next = begin(), columns, known, row = Row{}](std::vector<Cell>& cells) mutable {
      if (!next(row)) {
        return false;
      }
      cells.resize(columns.size());
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const TableColumn<Row>& column = columns[i];
        const bool measured = !known.empty() && column.at_most && column.at_most(row) <= known[i];
        cells[i] = measured ? Cell() : column.get(row);
      }
      return true;
    };
  };
}

}  // namespace memtool::commands
