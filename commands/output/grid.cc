#include "output/grid.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/utf8.h"
#include "output/cut_names.h"
#include "output/escape.h"
#include "output/number_widths.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kGap = 3;  // blanks
constexpr std::size_t kNarrowestCell = 10;
constexpr std::size_t kNarrowestOfAll = 4;  // where nothing else helps
// What names and paths need at least, and their part of the terminal.
constexpr std::size_t kComfortableName = 16;
constexpr std::size_t kComfortablePath = 14;
constexpr std::size_t kNamePart = 3;
constexpr std::size_t kPathPart = 6;
constexpr std::size_t kNarrowestWrap = 20;
// How many names are kept so that cut ones differ; in longer tables they are cut one by one.
constexpr std::size_t kMaxNames = 2000;
constexpr std::size_t kComfortableLines = 40;
constexpr std::size_t kLinesIndent = 2;

// Lines below each other, from the second on indented.
std::string Joined(const std::vector<std::string>& lines, std::size_t indent) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += i > 0 ? "\n" + std::string(indent, ' ') : "";
    text += lines[i];
  }
  return text;
}

// A line without spaces, broken where the room ends.
std::vector<std::string> Broken(std::string_view line, std::size_t room) {
  std::vector<std::string> parts(1);
  std::size_t used = 0;
  while (!line.empty()) {
    const std::string_view point = line.substr(0, DecodeUtf8(line).size);
    const std::size_t width = DisplayWidth(point);
    if (used + width > room) {
      const std::size_t size = parts.back().size();
      const std::size_t end = std::min(parts.back().find_last_of(",=/") + 1, size);
      const bool apt = end > size / 2;  // after a punctuation mark, where that leaves no large gap
      std::string rest = apt ? parts.back().substr(end) : std::string();
      parts.back().resize(size - rest.size());
      used = DisplayWidth(rest);
      parts.push_back(std::move(rest));
    }
    parts.back() += point;
    used += width;
    line.remove_prefix(point.size());
  }
  return parts;
}

// The width of a cell of several lines, as far as other columns should give way to it.
std::size_t LinesWidth(VisibleView text) {
  std::size_t width = 0;
  for (auto line = text.TakeLine(); line && width < kComfortableLines; line = text.TakeLine()) {
    width = std::max(width, DisplayWidth(line->str()) + kLinesIndent);
  }
  return std::min(width, kComfortableLines);
}

// Each line of a text is made visible and cut on its own: the line breaks are ours, everything else
// is not.
void AppendShortLines(std::string_view text, VisibleText& out) {
  while (true) {
    const std::size_t end = text.find('\n');
    out.Append(Shorten(EscapeText(text.substr(0, end)), kMaxCellWidth));
    if (end == std::string_view::npos) {
      return;
    }
    out.EndLine();
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Grid::Grid(const TextTable& table, const TableStyle& style) : table_(table), style_(style) {
  shown_ = style.columns.empty() ? ShownColumns(table) : style.columns;
  Measure();
  if (style.width > 0) {
    Fit(style.width);
    CutNames();
  }
}

// What the cells of a column need.
struct Grid::Measured {
  bool says = false;            // something, in any row
  std::set<std::string> names;  // as far as they may have to be cut
  NumberWidths numbers;
};

void Grid::MeasureCell(const Cell& cell, std::size_t at, SizeUnit unit, Measured& measured,
                       std::size_t& widest, VisibleText& room) const {
  const Column& column = table_.columns[at];
  const bool named = style_.width > 0 && column.shrink && measured.names.size() < kMaxNames;
  const bool made = !std::holds_alternative<std::monostate>(cell);
  if (!named && (!made || !measured.numbers.MayWiden(cell, unit))) {
    return;
  }
  const Rendered rendered = Render(cell, at, unit, room);
  measured.says = measured.says || !rendered.text.str().empty();
  widest = std::max(widest, column.lines ? LinesWidth(rendered.text) : rendered.width);
  if (named) {
    measured.names.emplace(rendered.text.str());
  }
}

// A column that may shrink and says nothing in any row (no calls into a framework, say) is left
// out.
void Grid::Measure() {
  const std::vector<std::size_t> columns = shown_;
  std::vector<Measured> measured(columns.size());
  std::vector<std::size_t> widest(table_.columns.size());
  VisibleText room;
  ForEachRow(
      table_, style_.limit,
      [&](const std::vector<Cell>& row) {
        empty_ = false;
        const SizeUnit unit = RowUnit(table_, row, columns, style_.unit);
        for (std::size_t i = 0; i < columns.size(); ++i) {
          const std::size_t at = columns[i];
          MeasureCell(row[at], at, CellUnit(row[at], unit, style_.unit), measured[i], widest[at],
                      room);
        }
      },
      widest);
  shown_.clear();
  widths_.clear();
  names_.clear();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = table_.columns[columns[i]];
    if (measured[i].says || !column.shrink) {
      shown_.push_back(columns[i]);
      widths_.push_back(std::max(widest[columns[i]], DisplayWidth(column.title)));
      names_.push_back(std::move(measured[i].names));
    }
  }
}

// Nearly all cells are short and plain: those are neither copied nor decoded.
Grid::Rendered Grid::Render(const Cell& cell, std::size_t column, SizeUnit unit,
                            VisibleText& room) const {
  const auto* text = std::get_if<std::string>(&cell);
  const Column& style = table_.columns[column];
  const auto plain =
      text != nullptr && text->size() <= kMaxCellWidth ? VisibleView::IfPlain(*text) : std::nullopt;
  if (plain) {
    return {*plain, text->size()};
  }
  room.clear();
  if (text == nullptr) {
    room.Append(CellText(cell, unit));
  } else if (style.lines) {
    if (column + 1 == table_.columns.size()) {
      if (const auto lines = VisibleView::IfPlainLines(*text, kMaxCellWidth)) {
        return {*lines, 0};  // nothing stands behind it, so nobody asks how wide it is
      }
    }
    AppendShortLines(*text, room);
  } else if (style.wrap && !style.shrink) {
    room.Append(*text);
  } else {
    room.Append(Shorten(EscapeText(Abridge(*text, kMaxCellBytes)), kMaxCellWidth));
  }
  return {.text = room, .width = DisplayWidth(room.str())};
}

// A column that wraps takes what the others leave, but needs some room.
std::size_t Grid::TotalWidth(bool comfortable, std::size_t wrapped) const {
  std::size_t total = shown_.empty() ? 0 : kGap * (shown_.size() - 1);
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const std::size_t wanted = ColumnAt(i).room > 0 ? ColumnAt(i).room
                               : ColumnAt(i).path
                                   ? std::max(kComfortablePath, style_.width / kPathPart)
                                   : std::max(kComfortableName, style_.width / kNamePart);
    total += Wraps(i)                   ? std::min(widths_[i], wrapped)
             : comfortable && MayCut(i) ? std::min(widths_[i], wanted)
                                        : widths_[i];
  }
  return total;
}

bool Grid::DropForWidth(std::size_t terminal) {
  const std::size_t before = shown_.size();
  const std::size_t wrapped = std::max(kNarrowestWrap, terminal * 2 / 5);
  while (!shown_.empty() && TotalWidth(true, wrapped) > terminal) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < shown_.size(); ++i) {
      least = ColumnAt(i).drop >= ColumnAt(least).drop ? i : least;
    }
    const bool may_wrap_more = Wraps(least) && TotalWidth(true, kNarrowestWrap) <= terminal;
    if (ColumnAt(least).drop == 0 || may_wrap_more) {
      break;
    }
    hidden_.push_back(shown_[least]);
    const auto at = static_cast<std::ptrdiff_t>(least);
    shown_.erase(shown_.begin() + at);
    widths_.erase(widths_.begin() + at);
    names_.erase(names_.begin() + at);
  }
  return shown_.size() != before;
}

// The widest column whose names may still be cut, or none.
std::optional<std::size_t> Grid::WidestToCut(std::size_t narrowest) const {
  std::optional<std::size_t> widest;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (MayCut(i) && widths_[i] > narrowest && (!widest || widths_[i] > widths_[*widest])) {
      widest = i;
    }
  }
  return widest;
}

void Grid::Fit(std::size_t terminal) {
  while (DropForWidth(terminal) && table_.row_unit) {
    Measure();
  }
  for (const std::size_t narrowest : {kNarrowestCell, kNarrowestOfAll}) {
    for (auto widest = WidestToCut(narrowest);
         widest && TotalWidth(false, kNarrowestWrap) > terminal; widest = WidestToCut(narrowest)) {
      --widths_[*widest];
    }
  }
}

void Grid::CutNames() {
  cut_.resize(shown_.size());
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (MayCut(i)) {
      cut_[i] = CutApart(names_[i], widths_[i], ColumnAt(i).path);
    }
  }
}

std::vector<std::string_view> Grid::Hidden() const {
  std::vector<std::size_t> hidden = hidden_;
  std::sort(hidden.begin(), hidden.end());
  std::vector<std::string_view> titles;
  titles.reserve(hidden.size());
  for (const std::size_t column : hidden) {
    titles.push_back(table_.columns[column].title);
  }
  return titles;
}

bool Grid::Shows(std::string_view title) const {
  return !empty_ && std::any_of(shown_.begin(), shown_.end(), [&](std::size_t column) {
    return table_.columns[column].title == title;
  });
}

// By what grew and what shrank, or the row's own.
Ink Grid::GetInk(std::size_t shown, const std::vector<Cell>& row, std::size_t number) const {
  const Column& column = ColumnAt(shown);
  if (column.colored) {
    return number < table_.row_inks.size() ? table_.row_inks[number] : Ink::kNone;
  }
  if (!column.growth) {
    return Ink::kNone;
  }
  const Cell& cell = row[shown_[shown]];
  const auto* amount = std::get_if<Amount>(&cell);
  const auto* percent = std::get_if<Percent>(&cell);
  const bool up =
      (amount != nullptr && amount->value > 0) || (percent != nullptr && percent->ratio > 0);
  const bool down =
      (amount != nullptr && amount->value < 0) || (percent != nullptr && percent->ratio < 0);
  return up ? Ink::kGrew : down ? Ink::kShrank : Ink::kNone;
}

void Grid::AppendCell(std::size_t shown, VisibleView text, std::size_t used,
                      VisibleText& line) const {
  const auto room_after = [this](std::size_t cells) {
    return style_.width > cells + kNarrowestWrap ? style_.width - cells : kNarrowestWrap;
  };
  if (Wraps(shown) && style_.width > 0) {
    const std::size_t indent = std::min(text.str().find_first_not_of(' '), text.str().size());
    const std::size_t room = room_after(used + indent);
    std::vector<std::string> lines;
    for (const std::string& each : WrapText(text.str().substr(indent), room)) {
      for (std::string& part : Broken(each, room)) {
        lines.push_back(std::move(part));
      }
    }
    line.AppendBlanks(indent).AppendLines(Joined(lines, used + indent));
  } else if (ColumnAt(shown).lines) {
    bool first = true;
    while (const auto each = text.TakeLine()) {
      if (!std::exchange(first, false)) {
        line.EndLine().AppendBlanks(used + kLinesIndent);
      }
      if (style_.width > 0) {
        line.Append(Shorten(each->str(), room_after(used + kLinesIndent)));
      } else {
        line.Append(*each);
      }
    }
  } else {
    line.Append(text);
  }
}

void Grid::Compose(const std::vector<Rendered>& cells, const std::vector<int>& colors,
                   VisibleText& line) const {
  line.clear();
  std::size_t used = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line.AppendBlanks(i > 0 ? kGap : 0);
    used += i > 0 ? kGap : 0;
    const auto& [text, width, link] = cells[i];
    const bool open = Wraps(i) || ColumnAt(i).lines;
    const std::size_t pad = !open && widths_[i] > width ? widths_[i] - width : 0;
    line.AppendBlanks(ColumnAt(i).left ? 0 : pad);
    if (!link.empty()) {
      line.AppendLink(text, link);
    } else if (!open) {
      line.Append(text, colors[i]);
    } else if (colors[i] == kNoColor) {
      AppendCell(i, text, used, line);
    } else {
      VisibleText cell;
      AppendCell(i, text, used, cell);
      line.Append(cell, colors[i]);
    }
    line.AppendBlanks(ColumnAt(i).left ? pad : 0);
    used += std::max(width, widths_[i]);
  }
  line.TrimEnd();
}

VisibleText Grid::Header() const {
  std::vector<VisibleText> texts;
  texts.reserve(shown_.size());
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const std::string title(ColumnAt(i).title);
    texts.emplace_back(MayCut(i) && style_.width > 0 ? Shorten(title, widths_[i]) : title);
  }
  std::vector<Rendered> cells;
  cells.reserve(texts.size());
  for (const VisibleText& text : texts) {
    cells.push_back({.text = text, .width = DisplayWidth(text.str())});
  }
  VisibleText header;
  Compose(cells, std::vector<int>(shown_.size(), kNoColor), header);
  return style_.palette ? VisibleText().AppendBold(header).EndLine() : header.EndLine();
}

Grid::Rendered Grid::Fitting(std::size_t shown, const Rendered& rendered, VisibleText& room) const {
  if (!MayCut(shown) || rendered.width <= widths_[shown]) {
    return rendered;
  }
  const std::string text(rendered.text.str());
  const auto found = cut_[shown].find(text);
  if (found != cut_[shown].end()) {
    room = VisibleText(found->second);
  } else {
    room = VisibleText(ColumnAt(shown).path ? ShortenAt(text, widths_[shown], 0)
                                            : Shorten(text, widths_[shown]));
  }
  return {.text = room, .width = DisplayWidth(room.str())};
}

void Grid::Write(Sink& out) const {
  if (empty_) {
    return;
  }
  out.Write(Header());
  std::vector<VisibleText> rooms(shown_.size());
  std::vector<Rendered> cells(shown_.size());
  std::vector<int> colors(shown_.size(), kNoColor);
  VisibleText line;
  auto block = table_.blocks.begin();
  std::size_t number = 0;
  ForEachRow(table_, style_.limit, [&](const std::vector<Cell>& row) {
    if (block != table_.blocks.end() && *block == number) {
      out.Write(VisibleText::Lines(number == 0 ? "" : "\n"));
      ++block;
    }
    const SizeUnit unit = RowUnit(table_, row, shown_, style_.unit);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const Cell& cell = row[shown_[i]];
      cells[i] = Fitting(i, Render(cell, shown_[i], CellUnit(cell, unit, style_.unit), rooms[i]),
                         rooms[i]);
      cells[i].link = IsPlace(i, number) ? style_.links->UrlOf(table_.places[number]) : "";
      colors[i] = style_.palette[GetInk(i, row, number)];
    }
    Compose(cells, colors, line);
    out.Write(line.EndLine());
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
