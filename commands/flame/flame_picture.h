// A flame graph as a picture, as characters and as folded stacks. All are pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/flame.h"
#include "output/text/visible_text.h"

namespace memtool::commands {

struct FlameStyle {
  std::vector<std::string> head;                     // what was read, and filters
  std::function<std::string(std::int64_t)> amount;   // "5.53 MiB"
  std::function<std::string(std::int64_t)> changed;  // "+5.53 MiB"
  bool up = false;                                   // callees above their callers
  unsigned width = 0;                                // of a terminal, in cells
  Palette palette{};
};

// The part of the whole; 0 of nothing.
double FlameShare(std::int64_t part, std::int64_t whole);
// "main"; visible, not escaped for any format.
std::string FlameName(const FlameRow& row);
// "5.53 MiB, 12.0%", of a comparison also the change.
std::string FlameFigures(const FlameAnswer& answer, const FlameRow& row, const FlameStyle& style);

// A whole SVG file with its own script: hover, zoom and search, in a browser; no input's text is
// ever markup.
std::string FlameSvg(const FlameAnswer& answer, const FlameStyle& style);
// A line per level, callers above callees.
VisibleText FlameText(const FlameAnswer& answer, const FlameStyle& style);
// "root;caller;leaf BYTES"; of a comparison the change.
std::string FlameFolded(const FlameAnswer& answer);

}  // namespace memtool::commands
