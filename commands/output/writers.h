// TextTable → text for a terminal, or markdown. Every writer is a pure function of its arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "output/sink.h"
#include "output/text_table.h"

namespace memtool::commands {

struct TableStyle {
  std::size_t limit = 0;  // rows printed; 0 = all
  unsigned width = 0;     // terminal columns; 0 = no terminal, nothing is cut to fit
  Palette palette{};
  const Links* links = nullptr;  // of places; null = none
  SizeUnit unit = SizeUnit::kAuto;
  std::vector<std::size_t> columns{};  // those to show, in this order; empty = ShownColumns()
};

// The columns that a table shows unless others are asked for.
std::vector<std::size_t> ShownColumns(const TextTable& table);

void WriteTable(const TextTable& table, const TableStyle& style, Sink& out);
void WriteMarkdown(const TextTable& table, const TableStyle& style, Sink& out);

// A cell as people read it; `unit` applies to amounts in bytes.
std::string CellText(const Cell& cell, SizeUnit unit);
// The unit that a row's cells in these columns share, or kAuto.
SizeUnit RowUnit(const TextTable& table, const std::vector<Cell>& row,
                 std::span<const std::size_t> columns, SizeUnit unit);
// The unit of one of these cells; `asked`: of the table. A difference has its own: +0.00 GiB says
// nothing.
SizeUnit CellUnit(const Cell& cell, SizeUnit of_row, SizeUnit asked);
// What a limit cuts off: rows, and the sum of the measure column where it holds amounts.
struct CutOff {
  std::size_t rows = 0;
  std::optional<Amount> amount;
};
CutOff CutBy(const TextTable& table, std::size_t limit);

}  // namespace memtool::commands
