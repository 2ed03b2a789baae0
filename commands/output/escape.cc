#include "output/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "memtool/profile/base/utf8.h"

namespace memtool::commands {

namespace {

// East Asian wide and full-width forms, emoji: two cells. Combining marks: none.
std::size_t Cells(std::uint32_t c) {
  if ((c >= 0x300 && c <= 0x36f) || (c >= 0xfe00 && c <= 0xfe0f)) {
    return 0;
  }
  const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                    (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
                    (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

std::string EscapeMarkdown(std::string_view bytes) {
  std::string out;
  for (const char c : EscapeText(bytes)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

std::string EscapeDot(std::string_view bytes) {
  std::string out;
  for (const char c : EscapeText(bytes)) {
    out += c == '\\' ? "\\\\" : std::string(1, c);
  }
  return out;
}

std::size_t DisplayWidth(std::string_view text) {
  if (IsPlain(text)) {
    return text.size();
  }
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint c = DecodeUtf8(text);
    width += Cells(c.value);
    text.remove_prefix(c.size);
  }
  return width;
}

std::string Shorten(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) {
    return std::string(text);
  }
  // Both ends of a name tell: the head what it is, the tail which one.
  std::vector<std::pair<std::string_view, std::size_t>> points;
  while (!text.empty()) {
    const CodePoint c = DecodeUtf8(text);
    points.emplace_back(text.substr(0, c.size), Cells(c.value));
    text.remove_prefix(c.size);
  }
  const std::size_t keep = width > 0 ? width - 1 : 0;
  std::string head;
  std::size_t head_width = 0;
  std::size_t next = 0;
  while (next < points.size() && head_width + points[next].second <= (keep + 1) / 2) {
    head += points[next].first;
    head_width += points[next++].second;
  }
  std::string tail;
  std::size_t tail_width = 0;
  for (std::size_t i = points.size();
       i > next && tail_width + points[i - 1].second + head_width <= keep; --i) {
    tail.insert(0, points[i - 1].first);
    tail_width += points[i - 1].second;
  }
  return head + "…" + tail;
}

}  // namespace memtool::commands
