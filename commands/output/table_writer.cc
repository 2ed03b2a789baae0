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

// Lines around a table, visible and wrapped; the first in a colour.
void WriteLines(const std::vector<std::string>& lines, unsigned width, Sink& out,
                int color = kNoColor) {
  for (const std::string& line : lines) {
    bool first = true;
    for (const std::string& part : WrapText(EscapeText(line), width > 2 ? width - 2 : 0)) {
      out.Write(VisibleText(first ? "" : "  ").Append(part, color).EndLine());
      first = false;
    }
    color = kNoColor;
  }
}

std::string HiddenText(const std::vector<std::string_view>& hidden) {
  return fmt::format("… column{} hidden: {} (wider terminal, or --columns)", PluralS(hidden.size()),
                     fmt::join(hidden, ", "));
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

SizeUnit RowUnit(const TextTable& table, const std::vector<Cell>& row,
                 std::span<const std::size_t> columns, SizeUnit unit) {
  if (!table.row_unit || unit != SizeUnit::kAuto) {
    return unit;
  }
  std::int64_t largest = 0;
  for (const std::size_t column : columns) {
    if (const auto* amount = std::get_if<Amount>(&row[column]);
        amount != nullptr && amount->bytes) {
      largest = std::max(largest, Magnitude(amount->value));
    }
  }
  return UnitFor(largest);
}

SizeUnit CellUnit(const Cell& cell, SizeUnit of_row, SizeUnit asked) {
  const auto* amount = std::get_if<Amount>(&cell);
  const bool own = asked == SizeUnit::kAuto && amount != nullptr && amount->sign && amount->bytes &&
                   amount->value != 0;
  return own ? UnitFor(Magnitude(amount->value)) : of_row;
}

CutOff CutBy(const TextTable& table, std::size_t limit) {
  CutOff cut{.rows = static_cast<std::size_t>(table.skipped_rows)};
  std::int64_t sum = table.skipped_amount;
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
  WriteLines(table.head, style.width, out, style.palette[table.verdict_ink]);
  const Grid grid(table, style);
  grid.Write(out);
  const CutOff cut = CutBy(table, style.limit);
  if (cut.rows > 0) {
    out.Write(
        VisibleText(fmt::format("… {} more row{}{} (-n 0 shows all)",
                                FormatCount(static_cast<std::int64_t>(cut.rows)), PluralS(cut.rows),
                                cut.amount ? " with " + CellText(*cut.amount, style.unit) : ""))
            .EndLine());
  }
  if (const auto hidden = grid.Hidden(); !hidden.empty()) {
    WriteLines({HiddenText(hidden)}, style.width, out);
  }
  for (const auto& [title, note] : table.column_notes) {
    WriteLines(grid.Shows(title) ? std::vector{note} : std::vector<std::string>{}, style.width,
               out);
  }
  WriteLines(table.foot, style.width, out);
}

void WriteMarkdown(const TextTable& table, const TableStyle& style, Sink& out) {
  for (const std::string& line : table.head) {
    out.Write(VisibleText(EscapeMarkdown(line)).EndLine().EndLine());
  }
  const std::vector<std::size_t> columns =
      style.columns.empty() ? ShownColumns(table) : style.columns;
  std::string titles = "|";
  std::string rule = "|";
  for (const std::size_t i : columns) {
    titles += fmt::format(" {} |", EscapeMarkdown(table.columns[i].title));
    rule += table.columns[i].left ? " :--- |" : " ---: |";
  }
  out.Write(VisibleText(titles).EndLine().Append(rule).EndLine());
  ForEachRow(table, style.limit, [&](const std::vector<Cell>& row) {
    const SizeUnit unit = RowUnit(table, row, columns, style.unit);
    std::string line = "|";
    for (const std::size_t i : columns) {
      line += fmt::format(
          " {} |", EscapeMarkdown(Shorten(EscapeText(CellText(row[i], unit)), kMaxCellWidth)));
    }
    out.Write(VisibleText(line).EndLine());
  });
  std::vector<std::string> foot;
  for (const auto& [title, note] : table.column_notes) {
    const bool shown = std::any_of(
        columns.begin(), columns.end(),
        [&, wanted = title](std::size_t column) { return table.columns[column].title == wanted; });
    foot.insert(foot.end(), shown ? 1 : 0, note);
  }
  foot.insert(foot.end(), table.foot.begin(), table.foot.end());
  for (const std::string& line : foot) {
    out.Write(VisibleText().EndLine().Append(EscapeMarkdown(line)).EndLine());
  }
}

}  // namespace memtool::commands
