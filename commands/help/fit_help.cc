#include "help/fit_help.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "output/escape.h"
#include "output/grid.h"

namespace memtool::commands {

namespace {

constexpr unsigned kMaxHelpWidth = 100;  // lines that are longer are hard to read
constexpr std::size_t kNarrowestColumn = 24;
constexpr std::size_t kHang = 4;

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

std::size_t GetIndent(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Where the second column of "  --color WHEN    auto, always or never" begins.
std::optional<std::size_t> SecondColumn(std::string_view line) {
  const std::size_t gap = line.find("  ", GetIndent(line));
  const std::size_t column = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return column == std::string_view::npos ? std::nullopt : std::optional(column);
}

bool IsOption(std::string_view line) {
  return line.starts_with("  -");
}

// "NAME text" with the text wrapped in its column, or below the name where the column would be too
// narrow.
std::string Hanging(std::string_view name, std::size_t column, std::string_view text,
                    std::size_t width) {
  const bool beside = column + kNarrowestColumn <= width;
  const std::size_t indent = beside ? column : kHang + 2;
  std::string out(name);
  const bool named = out.find_first_not_of(' ') != std::string::npos;
  out.erase(out.find_last_not_of(' ') + 1);
  const bool below = named && (!beside || out.size() + 2 > indent);
  out += below ? "\n" + std::string(indent, ' ')
               : std::string(indent - std::min(indent, out.size()), ' ');
  bool first = true;
  for (const std::string& line :
       WrapText(text, width > indent + 1 ? width - indent : kNarrowestColumn)) {
    out += (first ? "" : "\n" + std::string(indent, ' ')) + line;
    first = false;
  }
  return out + "\n";
}

// A command over several lines.
std::string Continued(std::string_view line, std::size_t width) {
  const std::size_t indent = GetIndent(line);
  const std::size_t room = width > indent + kHang + 2 ? width - indent - kHang - 2 : 1;
  std::string out;
  for (const std::string& part : WrapText(line.substr(indent), room)) {
    out += (out.empty() ? std::string(indent, ' ') : " \\\n" + std::string(indent + kHang, ' ')) +
           part;
  }
  return out + "\n";
}

// A line that continues in the next one.
bool GoesOn(std::string_view line) {
  constexpr std::size_t kFull = 70;
  return line.size() >= kFull && line.front() != ' ' && !SecondColumn(line);
}

std::string Fitted(std::string_view line, std::size_t width) {
  if (DisplayWidth(line) <= width) {
    return std::string(line) + "\n";
  }
  if (line.starts_with("  memtool ") && !SecondColumn(line)) {
    return Continued(line, width);
  }
  if (const auto column = SecondColumn(line)) {
    return Hanging(line.substr(0, *column), *column, line.substr(*column), width);
  }
  const std::size_t indent = GetIndent(line);
  return Hanging(std::string(indent, ' '), indent, line.substr(indent), width);
}

}  // namespace

std::string FitHelp(std::string_view text, unsigned width) {
  if (width == 0) {
    return std::string(text);
  }
  const std::size_t room = std::min(width, kMaxHelpWidth);
  const std::vector<std::string_view> lines = SplitLines(text);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (GoesOn(lines[i])) {
      std::string paragraph(lines[i]);
      for (; i + 1 < lines.size() && GoesOn(lines[i]) && !lines[i + 1].empty(); ++i) {
        paragraph += " " + std::string(lines[i + 1]);
      }
      for (const std::string& line : WrapText(paragraph, room)) {
        out += line + "\n";
      }
      continue;
    }
    const auto column = IsOption(lines[i]) ? SecondColumn(lines[i]) : std::nullopt;
    if (!column) {
      out += Fitted(lines[i], room);
      continue;
    }
    const std::string_view option = lines[i].substr(0, *column);
    std::string description(lines[i].substr(*column));
    for (; i + 1 < lines.size() && GetIndent(lines[i + 1]) == *column; ++i) {
      description.erase(description.find_last_not_of(' ') + 1);
      description += " " + std::string(lines[i + 1].substr(*column));
    }
    description.erase(description.find_last_not_of(' ') + 1);
    out += Hanging(option, *column, description, room);
  }
  return out;
}

}  // namespace memtool::commands
