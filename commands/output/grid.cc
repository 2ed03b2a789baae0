#include "output/grid.h"

#include <algorithm>

#include "output/escape.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kGap = "   ";
constexpr std::size_t kNarrowestCell = 8;
constexpr std::size_t kComfortableCell = 14;
constexpr std::size_t kNarrowestWrap = 20;

// Each line of a text by itself made visible and cut: the line breaks are ours, all else is not.
std::string ShortLines(std::string_view text) {
  std::string lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines += Shorten(EscapeText(text.substr(0, end)), kWidestCell);
    if (end == std::string_view::npos) {
      return lines;
    }
    lines += '\n';
    text.remove_prefix(end + 1);
  }
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

// First the columns that one can do without go, then names are cut, the widest first.
void Grid::Fit(std::size_t terminal) {
  while (ComfortableWidth() > terminal) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < shown_.size(); ++i) {
      least = ColumnAt(i).drop > ColumnAt(least).drop ? i : least;
    }
    if (shown_.empty() || ColumnAt(least).drop == 0) {
      break;
    }
    DropColumn(least);
    Measure();
  }
  while (TotalWidth() > terminal) {
    std::size_t widest = shown_.size();
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const bool may = ColumnAt(i).shrink && !ColumnAt(i).wrap && widths_[i] > kNarrowestCell;
      if (may && (widest == shown_.size() || widths_[i] > widths_[widest])) {
        widest = i;
      }
    }
    if (widest == shown_.size()) {
      break;
    }
    --widths_[widest];
  }
  for (auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (ColumnAt(i).shrink && !ColumnAt(i).wrap) {
        row[i] = Shorten(row[i], widths_[i]);
      }
    }
  }
}

std::string Grid::Lines(const std::vector<std::string>& texts) const {
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    line += i > 0 ? kGap : "";
    used += i > 0 ? kGap.size() : 0;
    if (ColumnAt(i).wrap && terminal_ > 0) {
      const std::size_t room =
          terminal_ > used + kNarrowestWrap ? terminal_ - used : kNarrowestWrap;
      bool first = true;
      for (const std::string& part : WrapText(texts[i], room)) {
        line += first ? "" : "\n" + std::string(used, ' ');
        line += part;
        first = false;
      }
      continue;
    }
    if (ColumnAt(i).lines) {
      for (const char c : texts[i]) {
        line += c == '\n' ? "\n" + std::string(used + 2, ' ') : std::string(1, c);
      }
      continue;
    }
    const std::size_t width = DisplayWidth(texts[i]);
    const std::string pad(widths_[i] > width ? widths_[i] - width : 0, ' ');
    line += ColumnAt(i).left ? texts[i] + pad : pad + texts[i];
    used += std::max(width, widths_[i]);
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
