// Report → text. Every writer is a pure function of its arguments.
#pragma once

#include <cstddef>

#include "output/report.h"
#include "output/sink.h"

namespace memtool::commands {

struct TableStyle {
  std::size_t limit = 0;  // rows printed; 0 = all
  unsigned width = 0;     // terminal columns; 0 = no terminal, nothing is cut to fit
  bool color = false;
  SizeUnit unit = SizeUnit::kAuto;
};

void WriteTable(const Report& report, const TableStyle& style, Sink& out);
void WriteJson(const Report& report, std::size_t limit, Sink& out);
void WriteJsonLines(const Report& report, std::size_t limit, Sink& out);
void WriteCsv(const Report& report, std::size_t limit, Sink& out);
void WriteMarkdown(const Report& report, const TableStyle& style, Sink& out);

// A cell as people read it; `unit` applies to amounts in bytes.
std::string CellText(const Cell& cell, SizeUnit unit);
// The unit that a row's cells share, or kAuto.
SizeUnit RowUnit(const Report& report, const std::vector<Cell>& row, SizeUnit unit);
// What a limit cuts off: rows, and the sum of the measure column.
struct CutOff {
  std::size_t rows = 0;
  std::int64_t bytes = 0;
};
CutOff CutBy(const Report& report, std::size_t limit);

}  // namespace memtool::commands
