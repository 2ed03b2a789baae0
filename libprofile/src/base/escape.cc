#include "memtool/profile/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "memtool/profile/base/utf8.h"

namespace memtool {

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

}  // namespace

bool IsPlain(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

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

}  // namespace memtool
