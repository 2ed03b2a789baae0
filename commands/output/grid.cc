#include "output/grid.h"

#include <algorithm>

#include "output/escape.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kGap = "   ";
constexpr std::size_t kNarrowestCell = 8;
constexpr std::size_t kComfortableCell = 14;
constexpr std::size_t kNarrowestWrap = 20;

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return lines;
    }
    text.remove_prefix(end + 1);
  }
}

// Lines below each other, from the second on indented.
std::string Joined(const std::vector<std::string>& lines, std::size_t indent) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += i > 0 ? "\n" + std::string(indent, ' ') : "";
    text += lines[i];
  }
  return text;
}

// Each line of a text by itself made visible and cut: the line breaks are ours, all else is not.
std::string ShortLines(std::string_view text) {
  std::vector<std::string> lines = Split(text);
  for (std::string& line : lines) {
    line = Shorten(EscapeText(line), kWidestCell);
  }
  return Joined(lines, 0);
}

}  // namespace

Grid::Grid(const Report& report, const TableStyle& style)
    : report_(report), terminal_(style.width) {
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
      const std::string text = CellText(report.rows[r][column], unit);
      if (report.columns[column].lines) {
        texts.push_back(ShortLines(text));
      } else {
        texts.push_back(report.columns[column].wrap ? EscapeText(text)
                                                    : Shorten(EscapeText(text), kWidestCell));
      }
    }
    rows_.push_back(std::move(texts));
  }
  DropEmptyColumns();
  Measure();
  if (terminal_ > 0) {
    Fit(terminal_);
  }
}

void Grid::DropColumn(std::size_t shown) {
  const auto at = static_cast<std::ptrdiff_t>(shown);
  shown_.erase(shown_.begin() + at);
  for (auto& row : rows_) {
    row.erase(row.begin() + at);
  }
}

// A column that says nothing in any row (no calls into a framework, say) is left out.
void Grid::DropEmptyColumns() {
  for (std::size_t i = shown_.size(); i-- > 0;) {
    const bool says =
        std::any_of(rows_.begin(), rows_.end(), [i](const auto& row) { return !row[i].empty(); });
    if (!says && ColumnAt(i).shrink) {
      DropColumn(i);
    }
  }
}

void Grid::Measure() {
  widths_.clear();
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    std::size_t width = DisplayWidth(ColumnAt(i).title);
    for (const auto& row : rows_) {
      width = std::max(width, ColumnAt(i).lines ? 0 : DisplayWidth(row[i]));
    }
    widths_.push_back(width);
  }
}

std::size_t Grid::TotalWidth() const {
  std::size_t total = shown_.empty() ? 0 : kGap.size() * (shown_.size() - 1);
  for (const std::size_t width : widths_) {
    total += width;
  }
  return total;
}

std::size_t Grid::ComfortableWidth() const {
  std::size_t width = TotalWidth();
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (ColumnAt(i).shrink) {
      width -= widths_[i] - std::min(widths_[i], kComfortableCell);
    }
  }
  return width;
}

// Leaves out columns that one can do without, the least important first.
void Grid::DropForWidth(std::size_t terminal) {
  while (!shown_.empty() && ComfortableWidth() > terminal) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < shown_.size(); ++i) {
      least = ColumnAt(i).drop > ColumnAt(least).drop ? i : least;
    }
    if (ColumnAt(least).drop == 0) {
      return;
    }
    DropColumn(least);
    Measure();
  }
}

// The widest column whose names may still be cut, or none.
std::optional<std::size_t> Grid::WidestToCut() const {
  std::optional<std::size_t> widest;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (MayCut(i) && widths_[i] > kNarrowestCell && (!widest || widths_[i] > widths_[*widest])) {
      widest = i;
    }
  }
  return widest;
}

void Grid::Fit(std::size_t terminal) {
  DropForWidth(terminal);
  for (auto widest = WidestToCut(); widest && TotalWidth() > terminal; widest = WidestToCut()) {
    --widths_[*widest];
  }
  for (auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = MayCut(i) ? Shorten(row[i], widths_[i]) : row[i];
    }
  }
}

// A cell in place; `used` cells of the line stand before it.
std::string Grid::CellAt(std::size_t shown, const std::string& text, std::size_t used) const {
  if (ColumnAt(shown).wrap && terminal_ > 0) {
    const std::size_t room = terminal_ > used + kNarrowestWrap ? terminal_ - used : kNarrowestWrap;
    return Joined(WrapText(text, room), used);
  }
  if (ColumnAt(shown).lines) {
    return Joined(Split(text), used + 2);
  }
  const std::size_t width = DisplayWidth(text);
  const std::string pad(widths_[shown] > width ? widths_[shown] - width : 0, ' ');
  return ColumnAt(shown).left ? text + pad : pad + text;
}

std::string Grid::Lines(const std::vector<std::string>& texts) const {
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    line += i > 0 ? kGap : "";
    used += i > 0 ? kGap.size() : 0;
    line += CellAt(i, texts[i], used);
    used += std::max(DisplayWidth(texts[i]), widths_[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

void Grid::Write(bool color, Sink& out) const {
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    titles.emplace_back(ColumnAt(i).title);
  }
  std::string header = Lines(titles);
  if (color) {
    header.pop_back();
    header = "\x1b[1m" + header + "\x1b[0m\n";
  }
  out.Write(header);
  auto block = report_.blocks.begin();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (block != report_.blocks.end() && *block == r) {
      out.Write(r == 0 ? "" : "\n");
      ++block;
    }
    out.Write(Lines(rows_[r]));
  }
}

std::vector<std::string> WrapText(std::string_view text, std::size_t width) {
  if (width == 0 || DisplayWidth(text) <= width) {
    return {std::string(text)};
  }
  // Prefer to break between the parts of a line; a part that is too long breaks at spaces.
  constexpr std::string_view kPart = " · ";
  const std::string_view separator = text.find(kPart) != std::string_view::npos ? kPart : " ";
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + separator.size());
    std::string& line = lines.back();
    const std::string joined =
        line.empty() ? std::string(part) : line + std::string(separator) + std::string(part);
    if (DisplayWidth(joined) <= width || line.empty()) {
      line = joined;
    } else {
      lines.emplace_back(part);
    }
  }
  if (separator != kPart) {
    return lines;
  }
  std::vector<std::string> fitted;
  for (const std::string& line : lines) {
    const bool fits = DisplayWidth(line) <= width || line.find(kPart) != std::string::npos;
    const auto parts = fits ? std::vector<std::string>{line} : WrapText(line, width);
    fitted.insert(fitted.end(), parts.begin(), parts.end());
  }
  return fitted;
}

}  // namespace memtool::commands
