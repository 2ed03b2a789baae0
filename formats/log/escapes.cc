#include "log/escapes.h"

#include <algorithm>

namespace memtool::formats::log {

namespace {

// Where the escape sequence at `at` (which is ESC) ends: CSI, OSC, or two characters.
std::size_t EscapeEnd(std::string_view line, std::size_t at) {
  constexpr char kBell = '\x07';
  constexpr char kEscape = '\x1b';
  std::size_t end = at + 2;
  if (at + 1 >= line.size()) {
    return line.size();
  }
  if (line[at + 1] == '[') {
    while (end < line.size() && (line[end] < '\x40' || line[end] > '\x7e')) {
      ++end;
    }
    return std::min(end + 1, line.size());
  }
  if (line[at + 1] == ']') {
    while (end < line.size() && line[end] != kBell && line[end] != kEscape) {
      ++end;
    }
    // ESC \ ends it as well.
    return std::min(end + (end < line.size() && line[end] == kEscape ? 2 : 1), line.size());
  }
  return std::min(end, line.size());
}

}  // namespace

std::string_view Clean(std::string_view line, std::string& buffer) {
  if (line.find('\x1b') == std::string_view::npos && line.find('\0') == std::string_view::npos) {
    return line;
  }
  buffer.clear();
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = EscapeEnd(line, at);
    } else {
      if (line[at] != '\0') {
        buffer.push_back(line[at]);
      }
      ++at;
    }
  }
  return buffer;
}

}  // namespace memtool::formats::log
