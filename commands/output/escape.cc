#include "output/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "memtool/profile/base/utf8.h"

namespace memtool::commands {

namespace {

// Characters that move the cursor, reorder text or hide: never shown raw.
bool IsInvisible(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x061c ||
         c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff) ||
         (c >= 0xfdd0 && c <= 0xfdef) ||
         (c & 0xfffeU) == 0xfffe;  // no characters; XML forbids them
}

void AppendVisible(std::string& out, std::uint32_t c) {
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{:04x}", c);
  }
}

// Printable ASCII alone, which is nearly all text: no escape but those of a format has anything to
// do.
bool IsPlain(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

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

std::string EscapeText(std::string_view bytes) {
  if (IsPlain(bytes)) {
    return std::string(bytes);
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint c = DecodeUtf8(bytes);
    if (!c.valid || IsInvisible(c.value)) {
      AppendVisible(out, c.value);
    } else {
      out += bytes.substr(0, c.size);
    }
    bytes.remove_prefix(c.size);
  }
  return out;
}

std::string ToUtf8(std::string_view bytes) {
  if (IsPlain(bytes)) {
    return std::string(bytes);
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint c = DecodeUtf8(bytes);
    out += c.valid ? bytes.substr(0, c.size) : "\xef\xbf\xbd";
    bytes.remove_prefix(c.size);
  }
  return out;
}

std::string EscapeJson(std::string_view json) {
  if (IsPlain(json)) {
    return std::string(json);
  }
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const CodePoint c = DecodeUtf8(json);
    if (c.value < 0x7f || !IsInvisible(c.value)) {
      out += json.substr(0, c.size);
    } else if (c.value <= 0xffff) {
      out += fmt::format("\\u{:04x}", c.value);
    } else {  // a pair of surrogates
      const std::uint32_t rest = c.value - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10U), 0xdc00 + (rest & 0x3ffU));
    }
    json.remove_prefix(c.size);
  }
  return out;
}

std::string EscapeCsv(std::string_view bytes) {
  std::string text = EscapeText(bytes);
  if (!text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

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

std::string EscapeFolded(std::string_view bytes) {
  std::string out = EscapeText(bytes);
  for (char& c : out) {
    c = c == ';' ? ':' : c;
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
