#include "memtool/profile/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "memtool/profile/base/utf8.h"

namespace memtool {

namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Characters that move the cursor, reorder text, hide or leave a blank: Unicode's categories Cc,
// Cf, Zl, Zp and Zs without the space itself, what has the property Default_Ignorable_Code_Point,
// and the blanks among letters and symbols (fillers of Hangul, the empty Braille cell, the null
// notehead). In order.
constexpr std::array<Range, 32> kInvisible{
    {{0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
     {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x1680, 0x1680},
     {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},
     {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
     {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
     {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
     {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}}};

bool IsInvisible(std::uint32_t c) {
  const auto* found =
      std::lower_bound(kInvisible.begin(), kInvisible.end(), c,
                       [](const Range& range, std::uint32_t value) { return range.last < value; });
  return (found != kInvisible.end() && found->first <= c) ||
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

// Eight bytes, as a high bit that is set in at least one of them unless all are visible ASCII:
// those from 0x80 have it, 0x7f plus 1, and what is below 0x20 minus 0x20. Where all are visible,
// nothing is carried from one byte to the next.
std::uint64_t HighBits(const char* bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101U;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word | (word + kEach) | (word - 0x20 * kEach);
}

// How many bytes from the first on are visible ASCII.
std::size_t PlainPrefix(std::string_view bytes) {
  constexpr std::uint64_t kHigh = 0x8080808080808080U;
  constexpr std::size_t kWord = sizeof kHigh;
  const char* const data = bytes.data();
  std::size_t at = 0;
  while (bytes.size() - at >= 4 * kWord &&
         ((HighBits(data + at) | HighBits(data + at + kWord) | HighBits(data + at + 2 * kWord) |
           HighBits(data + at + 3 * kWord)) &
          kHigh) == 0) {
    at += 4 * kWord;
  }
  while (bytes.size() - at >= kWord && (HighBits(data + at) & kHigh) == 0) {
    at += kWord;
  }
  // The last bytes, with some of those before them.
  if (at > 0 && bytes.size() - at < kWord && (HighBits(data + bytes.size() - kWord) & kHigh) == 0) {
    return bytes.size();
  }
  while (at < bytes.size() && data[at] >= 0x20 && data[at] < 0x7f) {
    ++at;
  }
  return at;
}

}  // namespace

bool IsPlain(std::string_view bytes) {
  return PlainPrefix(bytes) == bytes.size();
}

std::string EscapeText(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  AppendEscaped(out, bytes);
  return out;
}

void AppendEscaped(std::string& out, std::string_view bytes) {
  while (true) {
    const std::size_t plain = PlainPrefix(bytes);
    out += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) {
      return;
    }
    const CodePoint c = DecodeUtf8(bytes);
    if (!c.valid || IsInvisible(c.value)) {
      AppendVisible(out, c.value);
    } else {
      out += bytes.substr(0, c.size);
    }
    bytes.remove_prefix(c.size);
  }
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

}  // namespace memtool
