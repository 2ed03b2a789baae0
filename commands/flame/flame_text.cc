#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "flame/flame_picture.h"
#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/text/cpp_names.h"

namespace memtool::commands {

namespace {

// One level: cells between its boxes are blank.
class LevelLine {
 public:
  // A box from cell `from` up to `to`; boxes come from left to right.
  void Add(std::size_t from, std::size_t to, const std::string& label, int color) {
    Fill(from);
    line_.Append("│");
    const std::string text = to - from > 2 ? Shorten(label, to - from - 1) : std::string();
    line_.Append(text, color);
    at_ = from + 1 + DisplayWidth(text);
    closes_ = to;
  }
  // Empty if there is no box.
  [[nodiscard]] const VisibleText& Finish(std::size_t width) {
    Fill(width);
    return line_.TrimEnd();
  }

 private:
  // Blanks up to `cell`, and the right side of the box before where nothing else is there.
  void Fill(std::size_t cell) {
    if (closes_ > 0 && closes_ < cell) {
      line_.AppendBlanks(closes_ - at_).Append("│");
      at_ = closes_ + 1;
    }
    if (at_ < cell) {
      line_.AppendBlanks(cell - at_);
      at_ = cell;
    }
    closes_ = 0;
  }

  VisibleText line_;
  std::size_t at_ = 0;
  std::size_t closes_ = 0;
};

Ink GetInk(const FlameRow& row) {
  const std::int64_t change = row.change().value_or(0);
  return change > 0 ? Ink::kGrew : change < 0 ? Ink::kShrank : Ink::kNone;
}

std::string ChangeText(std::int64_t change, const FlameStyle& style) {
  return change == 0 ? std::string("unchanged") : style.changed(change);
}

// As much as there is room for: all figures, the one that matters, or the name alone, which says
// more than half a number.
std::string MakeLabel(const FlameAnswer& answer, const FlameRow& row, const FlameStyle& style,
                      std::size_t room) {
  std::string name = FlameName(row);
  const auto change = row.change();
  const std::string figure = change ? ChangeText(*change, style) : style.amount(row.bytes);
  for (const std::string& figures : {FlameFigures(answer, row, style), figure}) {
    std::string label = fmt::format("{}  {}", name, figures);
    if (DisplayWidth(label) <= room) {
      return label;
    }
  }
  return name;
}

std::string FoldedFrame(std::string_view name) {
  std::string text = EscapeText(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

}  // namespace

double FlameShare(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : Ratio(part, whole);
}

std::string FlameName(const FlameRow& row) {
  return EscapeText(NameText(row.name));
}

std::string FlameFigures(const FlameAnswer& answer, const FlameRow& row, const FlameStyle& style) {
  const std::int64_t whole = answer.total != 0 ? answer.total : answer.base_total;
  std::string text =
      fmt::format("{}, {:.1f}%", style.amount(row.bytes), 100.0 * FlameShare(row.bytes, whole));
  if (const auto change = row.change()) {
    text += ", " + ChangeText(*change, style);
  }
  return text;
}

VisibleText FlameText(const FlameAnswer& answer, const FlameStyle& style) {
  VisibleText text;
  for (const std::string& line : style.head) {
    for (const std::string& part : WrapText(EscapeText(line), style.width)) {
      text.Append(part).EndLine();
    }
  }
  text.EndLine();
  const std::size_t width = style.width;
  const auto cell = [&](std::int64_t at) {
    return static_cast<std::size_t>(
        std::lround(FlameShare(at, answer.width) * static_cast<double>(width)));
  };
  std::vector<LevelLine> lines(static_cast<std::size_t>(answer.levels) + 1);
  for (const FlameRow& row : answer.rows) {
    const std::size_t from = cell(row.begin);
    const std::size_t to = cell(SaturatingAdd(row.begin, row.width));
    if (to > from) {
      lines[static_cast<std::size_t>(row.depth)].Add(
          from, to, MakeLabel(answer, row, style, to - from - 1), style.palette[GetInk(row)]);
    }
  }
  if (style.up) {
    std::reverse(lines.begin(), lines.end());
  }
  for (LevelLine& line : lines) {
    if (const VisibleText& made = line.Finish(width); !made.empty()) {
      text.Append(made).EndLine();
    }
  }
  return text;
}

std::string FlameFolded(const FlameAnswer& answer) {
  std::map<std::string, std::int64_t> stacks;
  std::vector<std::size_t> ends;  // per depth: where the path of the last row there ends
  std::string path;
  for (const FlameRow& row : answer.rows) {
    if (!row.parent) {
      ends = {0};
      continue;
    }
    const auto depth = static_cast<std::size_t>(row.depth);
    ends.resize(depth);
    path.resize(ends.back());
    path += (depth > 1 ? ";" : "") + FoldedFrame(row.name);
    ends.push_back(path.size());
    const std::int64_t value = SaturatingSubtract(row.self, row.base_self.value_or(0));
    if (value != 0) {
      std::int64_t& sum = stacks[path];
      sum = SaturatingAdd(sum, value);
    }
  }
  std::string text;
  for (const auto& [stack, value] : stacks) {
    text += fmt::format("{} {}\n", stack, value);
  }
  return text;
}

}  // namespace memtool::commands
