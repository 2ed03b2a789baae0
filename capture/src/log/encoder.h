// Bytes of one record. The caller has reserved room for the longest form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire.h"

namespace memtool::capture {

inline constexpr std::size_t kVarintBytes = 10;
inline constexpr std::size_t kPlainRecord = 128;  // room for a record without text

class Encoder {
 public:
  explicit Encoder(std::uint8_t* at) : at_(at) {}

  void Byte(std::uint8_t value) { *at_++ = value; }
  void Begin(wire::Tag tag) { Byte(static_cast<std::uint8_t>(tag)); }
  void Varint(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<std::uint8_t>(value | 0x80U);
      value >>= 7U;
    }
    *at_++ = static_cast<std::uint8_t>(value);
  }
  void ZigZag(std::int64_t value) { Varint(wire::ZigZag(value)); }
  void Text(const void* text, std::size_t size) {
    Varint(size);
    memcpy(at_, text, size);
    at_ += size;
  }
  [[nodiscard]] std::uint8_t* at() const { return at_; }

 private:
  std::uint8_t* at_;
};

}  // namespace memtool::capture
