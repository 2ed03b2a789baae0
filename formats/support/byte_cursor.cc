#include "support/byte_cursor.h"

#include <fmt/format.h>

#include "support/read_error.h"

namespace memtool::formats {

void ThrowRead(ErrorCode code, std::uint64_t offset, std::string field, std::string message,
               std::string hint) {
  throw ReadError(Error{.code = code,
                        .input = {},
                        .offset = offset,
                        .field = std::move(field),
                        .message = std::move(message),
                        .hint = std::move(hint)});
}

void ByteCursor::ThrowPastEnd(std::uint64_t wanted) const {
  ThrowRead(ErrorCode::kTruncated, offset(), {},
            fmt::format("needs {} more byte{}, but its record ends after {}", wanted,
                        wanted == 1 ? "" : "s", left()));
}

std::uint64_t ByteCursor::LongVarint() {
  // Up to eight bytes at once: the high bits tell where it ends, the others are pushed together.
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  if (left() >= sizeof(std::uint64_t)) {
    const std::uint64_t word = WordAhead(0);
    const std::uint64_t stops = ~word & kHighBits;
    if (stops != 0) {
      std::uint64_t bits = word & (stops ^ (stops - 1)) & ~kHighBits;
      bits = (bits & 0x007f007f007f007fU) | (bits & 0x7f007f007f007f00U) >> 1U;
      bits = (bits & 0x00003fff00003fffU) | (bits & 0x3fff00003fff0000U) >> 2U;
      bits = (bits & 0x000000000fffffffU) | (bits & 0x0fffffff00000000U) >> 4U;
      at_ += static_cast<unsigned>(std::countr_zero(stops)) / 8 + 1;
      return bits;
    }
  }
  std::uint64_t value = 0;
  const std::uint64_t start = offset();
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const std::uint8_t byte = Byte();
    if (shift == 63 && byte > 1) {
      ThrowRead(ErrorCode::kMalformed, start, {}, "varint does not fit 64 bits");
    }
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  ThrowRead(ErrorCode::kMalformed, start, {}, "varint longer than 10 bytes");
}

}  // namespace memtool::formats
