#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "memtool/profile/analysis/values.h"
#include "output/escape.h"
#include "output/writers.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kGap = "   ";
// Wide enough for any sane name; a hostile one is cut even where no terminal asks for it.
constexpr std::size_t kWidestCell = 200;
constexpr std::size_t kNarrowestCell = 8;

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

// Texts of the columns that tables show, and their widths.
class Grid {
 public:
  Grid(const Report& report, const TableStyle& style) : report_(report) {
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (!report.columns[i].title.empty()) {
        shown_.push_back(i);
      }
    }
    const std::size_t limit =
        style.limit == 0 ? report.rows.size() : std::min(style.limit, report.rows.size());
    for (std::size_t r = 0; r < limit; ++r) {
      const SizeUnit unit = RowUnit(report, report.rows[r], style.unit);
      std::vector<std::string> texts;
      for (const std::size_t column : shown_) {
        texts.push_back(Shorten(EscapeText(CellText(report.rows[r][column], unit)), kWidestCell));
      }
      rows_.push_back(std::move(texts));
    }
    DropEmptyColumns();
    Measure();
    if (style.width > 0) {
      Fit(style.width);
    }
  }

  void Write(bool color, Sink& out) {
    std::vector<std::string> titles;
    for (const std::size_t column : shown_) {
      titles.emplace_back(report_.columns[column].title);
    }
    out.Write(color ? "\x1b[1m" + Line(titles) + "\x1b[0m\n" : Line(titles) + "\n");
    for (const auto& row : rows_) {
      out.Write(Line(row) + "\n");
    }
  }

 private:
  // A column that says nothing in any row (no calls into a framework, say) is left out.
  void DropEmptyColumns() {
    for (std::size_t i = shown_.size(); i-- > 0;) {
      const bool says =
          std::any_of(rows_.begin(), rows_.end(), [i](const auto& row) { return !row[i].empty(); });
      if (says || !report_.columns[shown_[i]].shrink) {
        continue;
      }
      shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(i));
      for (auto& row : rows_) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  void Measure() {
    widths_.clear();
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      std::size_t width = DisplayWidth(report_.columns[shown_[i]].title);
      for (const auto& row : rows_) {
        width = std::max(width, DisplayWidth(row[i]));
      }
      widths_.push_back(width);
    }
  }

  // Takes cells from the widest column that may shrink until the table fits.
  void Fit(std::size_t terminal) {
    std::size_t total = kGap.size() * (shown_.size() - 1);
    for (const std::size_t width : widths_) {
      total += width;
    }
    while (total > terminal) {
      std::size_t widest = shown_.size();
      for (std::size_t i = 0; i < shown_.size(); ++i) {
        const bool may = report_.columns[shown_[i]].shrink && widths_[i] > kNarrowestCell;
        if (may && (widest == shown_.size() || widths_[i] > widths_[widest])) {
          widest = i;
        }
      }
      if (widest == shown_.size()) {
        return;
      }
      --widths_[widest];
      --total;
    }
    for (auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (report_.columns[shown_[i]].shrink) {
          row[i] = Shorten(row[i], widths_[i]);
        }
      }
    }
  }

  [[nodiscard]] std::string Line(const std::vector<std::string>& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t width = DisplayWidth(texts[i]);
      const std::string pad(widths_[i] > width ? widths_[i] - width : 0, ' ');
      line += i > 0 ? kGap : "";
      line += report_.columns[shown_[i]].left ? texts[i] + pad : pad + texts[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  const Report& report_;
  std::vector<std::size_t> shown_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string CellText(const Cell& cell, SizeUnit unit) {
  struct Visitor {
    SizeUnit unit;
    std::string operator()(std::monostate) const { return "–"; }
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

SizeUnit RowUnit(const Report& report, const std::vector<Cell>& row, SizeUnit unit) {
  if (!report.row_unit || unit != SizeUnit::kAuto) {
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

CutOff CutBy(const Report& report, std::size_t limit) {
  CutOff cut;
  if (limit == 0) {
    return cut;
  }
  for (std::size_t r = limit; r < report.rows.size(); ++r) {
    ++cut.rows;
    if (const auto* amount = std::get_if<Amount>(&report.rows[r][report.measure])) {
      cut.bytes = SaturatingAdd(cut.bytes, amount->value);
    }
  }
  return cut;
}

void WriteTable(const Report& report, const TableStyle& style, Sink& out) {
  for (const std::string& line : report.head) {
    out.Write(EscapeText(line) + "\n");
  }
  if (!report.rows.empty()) {
    Grid(report, style).Write(style.color, out);
  }
  const CutOff cut = CutBy(report, style.limit);
  if (cut.rows > 0) {
    const bool bytes = report.unit == "bytes";
    const bool measured = std::holds_alternative<Amount>(report.rows.back()[report.measure]);
    const std::string held = bytes ? FormatSize(cut.bytes, style.unit) : FormatCount(cut.bytes);
    out.Write(fmt::format("… {} more row{}{} (-n 0 shows all)\n",
                          FormatCount(static_cast<std::int64_t>(cut.rows)),
                          cut.rows == 1 ? "" : "s", measured ? " with " + held : ""));
  }
  for (const std::string& line : report.foot) {
    out.Write(EscapeText(line) + "\n");
  }
}

void WriteMarkdown(const Report& report, const TableStyle& style, Sink& out) {
  for (const std::string& line : report.head) {
    out.Write(EscapeMarkdown(line) + "\n\n");
  }
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : report.columns) {
    if (!column.title.empty()) {
      titles += fmt::format(" {} |", EscapeMarkdown(column.title));
      rule += column.left ? " :--- |" : " ---: |";
    }
  }
  out.Write(titles + "\n" + rule + "\n");
  const std::size_t limit =
      style.limit == 0 ? report.rows.size() : std::min(style.limit, report.rows.size());
  for (std::size_t r = 0; r < limit; ++r) {
    const SizeUnit unit = RowUnit(report, report.rows[r], style.unit);
    std::string line = "|";
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (!report.columns[i].title.empty()) {
        line += fmt::format(
            " {} |",
            EscapeMarkdown(Shorten(EscapeText(CellText(report.rows[r][i], unit)), kWidestCell)));
      }
    }
    out.Write(line + "\n");
  }
  for (const std::string& line : report.foot) {
    out.Write("\n" + EscapeMarkdown(line) + "\n");
  }
}

}  // namespace memtool::commands
