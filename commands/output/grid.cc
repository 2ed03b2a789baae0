#include "output/grid.h"

#include <algorithm>

#include "output/escape.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kGap = "   ";
constexpr std::size_t kNarrowestCell = 8;
constexpr std::size_t kComfortableCell = 14;
constexpr std::size_t kNarrowestWrap = 20;
constexpr std::size_t kComfortableLines = 40;
constexpr std::size_t kLinesIndent = 2;

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

// What lines below each other need, as far as other columns should give way to them.
std::size_t LinesWidth(std::string_view text) {
  std::size_t width = 0;
  for (const std::string& line : Split(text)) {
    width = std::max(width, DisplayWidth(line) + kLinesIndent);
  }
  return std::min(width, kComfortableLines);
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

Grid::Grid(const TextTable& table, const TableStyle& style) : table_(table), style_(style) {
  Measure();
  if (style.width > 0) {
    Fit(style.width);
  }
}

// A column that may shrink and says nothing in any row (no calls into a framework, say) is left
// out.
void Grid::Measure() {
  std::vector<std::size_t> titled;
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    if (!table_.columns[i].title.empty()) {
      titled.push_back(i);
    }
  }
  std::vector<std::size_t> widest(titled.size(), 0);
  std::vector<char> says(titled.size(), 0);
  ForEachRow(table_, style_.limit, [&](const std::vector<Cell>& row) {
    empty_ = false;
    for (std::size_t i = 0; i < titled.size(); ++i) {
      const std::string text = Text(row, titled[i]);
      says[i] = says[i] != 0 || !text.empty() ? 1 : 0;
      widest[i] = std::max(widest[i],
                           table_.columns[titled[i]].lines ? LinesWidth(text) : DisplayWidth(text));
    }
  });
  for (std::size_t i = 0; i < titled.size(); ++i) {
    const Column& column = table_.columns[titled[i]];
    if (says[i] != 0 || !column.shrink) {
      shown_.push_back(titled[i]);
      widths_.push_back(std::max(widest[i], DisplayWidth(column.title)));
    }
  }
}

// What a cell says, before it is cut to the width of its column.
std::string Grid::Text(const std::vector<Cell>& row, std::size_t column) const {
  const std::string text = CellText(row[column], RowUnit(table_, row, style_.unit));
  if (table_.columns[column].lines) {
    return ShortLines(text);
  }
  return table_.columns[column].wrap ? EscapeText(text) : Shorten(EscapeText(text), kWidestCell);
}

void Grid::DropColumn(std::size_t shown) {
  const auto at = static_cast<std::ptrdiff_t>(shown);
  shown_.erase(shown_.begin() + at);
  widths_.erase(widths_.begin() + at);
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
}

// A cell in place; `used` cells of the line stand before it.
std::string Grid::CellAt(std::size_t shown, const std::string& text, std::size_t used) const {
  if (ColumnAt(shown).wrap && style_.width > 0) {
    const std::size_t room =
        style_.width > used + kNarrowestWrap ? style_.width - used : kNarrowestWrap;
    return Joined(WrapText(text, room), used);
  }
  if (ColumnAt(shown).lines) {
    std::vector<std::string> lines = Split(text);
    if (style_.width > 0) {
      const std::size_t room = style_.width > used + kLinesIndent + kNarrowestWrap
                                   ? style_.width - used - kLinesIndent
                                   : kNarrowestWrap;
      for (std::string& line : lines) {
        line = Shorten(line, room);
      }
    }
    return Joined(lines, used + kLinesIndent);
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

void Grid::Write(Sink& out) const {
  if (empty_) {
    return;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    texts.emplace_back(ColumnAt(i).title);
  }
  std::string header = Lines(texts);
  if (style_.color) {
    header.pop_back();
    header = "\x1b[1m" + header + "\x1b[0m\n";
  }
  out.Write(header);
  auto block = table_.blocks.begin();
  std::size_t number = 0;
  ForEachRow(table_, style_.limit, [&](const std::vector<Cell>& row) {
    if (block != table_.blocks.end() && *block == number) {
      out.Write(number == 0 ? "" : "\n");
      ++block;
    }
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      texts[i] = Text(row, shown_[i]);
      texts[i] = MayCut(i) ? Shorten(texts[i], widths_[i]) : texts[i];
    }
    out.Write(Lines(texts));
    ++number;
  });
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
