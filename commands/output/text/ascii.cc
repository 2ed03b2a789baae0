#include "output/text/ascii.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace memtool::commands {

namespace {

struct Sign {
  std::string_view sign;
  char ascii;
};

// Blocks as what fills about as much of a cell.
constexpr auto kSigns = std::to_array<Sign>({
    {"…", '~'}, {"·", '-'}, {"→", '>'}, {"←", '<'}, {"–", '-'}, {"−", '-'}, {"×", 'x'}, {"±", '~'},
    {"µ", 'u'}, {"μ", 'u'}, {"Σ", 'S'}, {"²", '2'}, {"⁴", '4'}, {"⁶", '6'}, {"─", '-'}, {"│", '|'},
    {"┤", '+'}, {"└", '+'}, {"╷", ','}, {"▼", 'V'}, {"░", '.'}, {"▒", ':'}, {"▓", '%'}, {"█", '#'},
    {"▇", '#'}, {"▆", '#'}, {"▅", '='}, {"▄", '='}, {"▃", '-'}, {"▂", '-'}, {"▁", '_'}, {"▉", '#'},
    {"▊", '#'}, {"▋", '#'}, {"▌", '='}, {"▍", '='}, {"▎", '-'}, {"▏", '.'},
});

// The bytes of the character at the begin of a text that is UTF-8.
std::size_t Length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(length, text.size());
}

std::uint32_t CodePoint(std::string_view character) {
  std::uint32_t point =
      static_cast<unsigned char>(character.front()) & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) {
    point = point << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return point;
}

}  // namespace

std::string ToAscii(std::string_view text) {
  std::string ascii;
  ascii.reserve(text.size());
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      ascii += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, Length(text));
    const auto* const own = std::find_if(kSigns.begin(), kSigns.end(),
                                         [&](const Sign& sign) { return sign.sign == character; });
    if (own != kSigns.end()) {
      ascii += own->ascii;
    } else {
      ascii += fmt::format("\\u{{{:x}}}", CodePoint(character));
    }
    text.remove_prefix(character.size());
  }
  return ascii;
}

}  // namespace memtool::commands
