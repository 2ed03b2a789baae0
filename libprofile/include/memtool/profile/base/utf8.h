// Decoding UTF-8 of any origin; nothing is assumed about the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memtool {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 1;  // bytes
  bool valid = false;
};

// The code point that `text`, which is not empty, begins with. Overlong forms, surrogates and
// values above U+10FFFF are not valid; then `value` is the first byte and `size` 1.
CodePoint DecodeUtf8(std::string_view text);

// The position of the first byte that is not part of a code point; npos when all is UTF-8.
std::size_t FirstInvalidUtf8(std::string_view text);

}  // namespace memtool
