#include "output/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

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

std::string EscapeXml(std::string_view bytes) {
  std::string out;
  for (const char c : EscapeText(bytes)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
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

namespace {

// The width of a line number at the end: ":216". 0 = none.
std::size_t LineNumberWidth(std::string_view text) {
  const std::size_t colon = text.find_last_not_of("0123456789");
  const bool ends =
      colon != std::string_view::npos && text[colon] == ':' && colon + 1 < text.size();
  return ends ? text.size() - colon : 0;
}

// Names may be megabytes long: only as much of them is looked at as is shown.

bool FitsIn(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  while (!text.empty() && used <= width) {
    const CodePoint c = DecodeUtf8(text);
    used += Cells(c.value);
    text.remove_prefix(c.size);
  }
  return used <= width;
}

// The last character of a text that is not empty.
CodePoint GetLast(std::string_view text) {
  constexpr std::size_t kMaxLength = 4;
  for (std::size_t size = std::min(kMaxLength, text.size()); size > 1; --size) {
    if (const CodePoint c = DecodeUtf8(text.substr(text.size() - size)); c.size == size) {
      return c;
    }
  }
  return DecodeUtf8(text.substr(text.size() - 1));
}

}  // namespace

std::string ShortenAt(std::string_view text, std::size_t width, std::size_t head_width) {
  if (FitsIn(text, width)) {
    return std::string(text);
  }
  const std::size_t keep = width > 0 ? width - 1 : 0;
  std::size_t used = 0;
  std::string_view rest = text;
  for (CodePoint c = DecodeUtf8(rest); used + Cells(c.value) <= std::min(head_width, keep);
       c = DecodeUtf8(rest)) {
    used += Cells(c.value);
    rest.remove_prefix(c.size);
  }
  const std::string_view head = text.substr(0, text.size() - rest.size());
  while (!rest.empty()) {
    const CodePoint c = GetLast(rest);
    used += Cells(c.value);
    if (used > keep) {
      break;
    }
    rest.remove_suffix(c.size);
  }
  return std::string(head) + "…" + std::string(text.substr(head.size() + rest.size()));
}

std::string Shorten(std::string_view text, std::size_t width) {
  // Both ends of a name tell something: the head what it is, the tail which one. A part of a line
  // number is of no use.
  const std::size_t keep = width > 0 ? width - 1 : 0;
  const std::size_t line = LineNumberWidth(text);
  return ShortenAt(text, width, std::min((keep + 1) / 2, line <= keep ? keep - line : keep));
}

}  // namespace memtool::commands
