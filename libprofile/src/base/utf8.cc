#include "memtool/profile/base/utf8.h"

namespace memtool {

CodePoint DecodeUtf8(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    return {first, 1, true};
  }
  std::size_t size = 0;
  std::uint32_t value = 0;
  std::uint32_t lowest = 0;
  if ((first & 0xe0U) == 0xc0) {
    size = 2;
    value = first & 0x1fU;
    lowest = 0x80;
  } else if ((first & 0xf0U) == 0xe0) {
    size = 3;
    value = first & 0x0fU;
    lowest = 0x800;
  } else if ((first & 0xf8U) == 0xf0) {
    size = 4;
    value = first & 0x07U;
    lowest = 0x10000;
  }
  if (size == 0 || text.size() < size) {
    return {first, 1, false};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return {first, 1, false};
    }
    value = value << 6U | (byte(i) & 0x3fU);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < lowest || surrogate || value > 0x10ffff) {
    return {first, 1, false};
  }
  return {value, size, true};
}

std::size_t FirstInvalidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text.substr(at));
    if (!point.valid) {
      return at;
    }
    at += point.size;
  }
  return std::string_view::npos;
}

}  // namespace memtool
