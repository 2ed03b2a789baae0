// Writing the wire form of protobuf messages.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace memtool::formats {

// One message; fields come out in the order in which they are added. Reuse it with Clear().
class ProtoBytes {
 public:
  void Clear() { bytes_.clear(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  ProtoBytes& Number(std::uint32_t field, std::uint64_t value) {
    Varint(std::uint64_t{field} << 3U);
    Varint(value);
    return *this;
  }
  // int64: negative numbers take ten bytes.
  ProtoBytes& Signed(std::uint32_t field, std::int64_t value) {
    return Number(field, static_cast<std::uint64_t>(value));
  }
  ProtoBytes& Double(std::uint32_t field, double value) {
    constexpr std::uint64_t kFixed64 = 1;
    Varint(std::uint64_t{field} << 3U | kFixed64);
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned i = 0; i < sizeof(bits); ++i) {
      bytes_ += static_cast<char>(bits & 0xffU);
      bits >>= 8U;
    }
    return *this;
  }
  // Text, bytes, or a message.
  ProtoBytes& Bytes(std::uint32_t field, std::string_view value) {
    constexpr std::uint64_t kLength = 2;
    Varint(std::uint64_t{field} << 3U | kLength);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoBytes& Message(std::uint32_t field, const ProtoBytes& message) {
    return Bytes(field, message.bytes_);
  }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80U);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace memtool::formats
