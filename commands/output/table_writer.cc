#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/writers.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string PercentText(const Percent& percent) {
  const double exact = percent.ratio * 100.0;
  const double value = std::abs(exact) < 0.05 ? 0.0 : exact;  // never "-0.0%"
  if (!std::isfinite(value)) {
    return "–";
  }
  if (std::abs(value) >= 1000) {
    return percent.sign ? fmt::format("{:+.0f}%", value) : fmt::format("{:.0f}%", value);
  }
  return percent.sign ? fmt::format("{:+.1f}%", value) : fmt::format("{:.1f}%", value);
}

// Lines around a table, visible and wrapped.
void WriteLines(const std::vector<std::string>& lines, unsigned width, Sink& out) {
  for (const std::string& line : lines) {
    bool first = true;
    for (const std::string& part : WrapText(EscapeText(line), width > 2 ? width - 2 : 0)) {
      out.Write((first ? "" : "  ") + part + "\n");
      first = false;
    }
  }
}

}  // namespace

std::string CellText(const Cell& cell, SizeUnit unit) {
  struct Visitor {
    SizeUnit unit;
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t count) const { return FormatCount(count); }
    std::string operator()(const Amount& amount) const {
      return amount.bytes ? FormatSize(amount.value, unit, amount.sign)
                          : FormatCount(amount.value, amount.sign);
    }
    std::string operator()(const Percent& percent) const { return PercentText(percent); }
  };
  return std::visit(Visitor{unit}, cell);
}

SizeUnit RowUnit(const TextTable& table, const std::vector<Cell>& row, SizeUnit unit) {
  if (!table.row_unit || unit != SizeUnit::kAuto) {
    return unit;
  }
  std::int64_t largest = 0;
  for (const Cell& cell : row) {
    if (const auto* amount = std::get_if<Amount>(&cell); amount != nullptr && amount->bytes) {
      largest = std::max(largest, Magnitude(amount->value));
    }
  }
  return UnitFor(largest);
}

CutOff CutBy(const TextTable& table, std::size_t limit) {
  CutOff cut{.rows = table.unmade_rows};
  std::int64_t sum = table.unmade_amount;
  for (std::size_t r = limit == 0 ? table.rows.size() : limit; r < table.rows.size(); ++r) {
    ++cut.rows;
    if (const auto* amount = std::get_if<Amount>(&table.rows[r][table.measure])) {
      sum = SaturatingAdd(sum, amount->value);
    }
  }
  if (!table.rows.empty()) {
    if (const auto* last = std::get_if<Amount>(&table.rows.back()[table.measure])) {
      cut.amount = Amount{.value = sum, .bytes = last->bytes};
    }
  }
  return cut;
}

void WriteTable(const TextTable& table, const TableStyle& style, Sink& out) {
  WriteLines(table.head, style.width, out);
  Grid(table, style).Write(out);
  const CutOff cut = CutBy(table, style.limit);
  if (cut.rows > 0) {
    out.Write(fmt::format("… {} more row{}{} (-n 0 shows all)\n",
                          FormatCount(static_cast<std::int64_t>(cut.rows)), PluralS(cut.rows),
                          cut.amount ? " with " + CellText(*cut.amount, style.unit) : ""));
  }
  WriteLines(table.foot, style.width, out);
}

void WriteMarkdown(const TextTable& table, const TableStyle& style, Sink& out) {
  for (const std::string& line : table.head) {
    out.Write(EscapeMarkdown(line) + "\n\n");
  }
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : table.columns) {
    if (!column.title.empty()) {
      titles += fmt::format(" {} |", EscapeMarkdown(column.title));
      rule += column.left ? " :--- |" : " ---: |";
    }
  }
  out.Write(titles + "\n" + rule + "\n");
  ForEachRow(table, style.limit, [&](const std::vector<Cell>& row) {
    const SizeUnit unit = RowUnit(table, row, style.unit);
    std::string line = "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.columns[i].title.empty()) {
        line += fmt::format(
            " {} |", EscapeMarkdown(Shorten(EscapeText(CellText(row[i], unit)), kWidestCell)));
      }
    }
    out.Write(line + "\n");
  });
  for (const std::string& line : table.foot) {
    out.Write("\n" + EscapeMarkdown(line) + "\n");
  }
}

}  // namespace memtool::commands
