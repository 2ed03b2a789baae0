// The bounds-checked cursor over bytes already in memory: no other code in formats/ does pointer
// arithmetic on input. A read past the end throws ReadError with the offset.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace memtool::formats {

class ByteCursor {
 public:
  // `base` is the offset of bytes[0] in the unpacked input, for error messages.
  ByteCursor(std::span<const std::byte> bytes, std::uint64_t base)
      : begin_(bytes.data()), at_(bytes.data()), end_(at_ + bytes.size()), base_(base) {}

  [[nodiscard]] bool done() const { return at_ == end_; }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] std::uint64_t offset() const {
    return base_ + static_cast<std::uint64_t>(at_ - begin_);
  }
  [[nodiscard]] const std::byte* position() const { return at_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return {at_, left()}; }

  std::uint8_t Byte() {
    if (at_ == end_) {
      ThrowPastEnd(1);
    }
    return static_cast<std::uint8_t>(*at_++);
  }
  std::span<const std::byte> Take(std::uint64_t size) {
    if (size > left()) {
      ThrowPastEnd(size);
    }
    const std::span<const std::byte> bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }
  void Skip(std::uint64_t size) { Take(size); }

  // Skips bytes of which the caller has checked that they are there.
  void Pass(std::size_t size) { at_ += size; }

  // Base-128 varint of protobuf, at most 10 bytes; bits above 64 are an error.
  std::uint64_t Varint() {
    // One and two bytes cover nearly all tags, lengths and ids.
    if (end_ - at_ >= 2) {
      const auto low = static_cast<std::uint32_t>(at_[0]);
      const auto high = static_cast<std::uint32_t>(at_[1]);
      if (low < 0x80) {
        ++at_;
        return low;
      }
      if (high < 0x80) {
        at_ += 2;
        return (low & 0x7fU) | high << 7U;
      }
    }
    return LongVarint();
  }
  // Little endian.
  std::uint32_t Fixed32() { return Fixed<std::uint32_t>(); }
  std::uint64_t Fixed64() { return Fixed<std::uint64_t>(); }
  // The next byte without stepping over it; there must be one.
  [[nodiscard]] std::uint8_t Peek() const { return static_cast<std::uint8_t>(*at_); }
  // The little-endian word `skip` bytes ahead; the caller has checked that it is there.
  [[nodiscard]] std::uint64_t WordAhead(std::size_t skip) const {
    return Load<std::uint64_t>(at_ + skip);
  }

 private:
  template <class T>
  static T Load(const std::byte* from) {
    T value = 0;
    std::memcpy(&value, from, sizeof(T));
    if constexpr (std::endian::native == std::endian::big) {
      value = static_cast<T>(__builtin_bswap64(value) >> (64U - 8U * sizeof(T)));
    }
    return value;
  }
  template <class T>
  T Fixed() {
    return Load<T>(Take(sizeof(T)).data());
  }
  std::uint64_t LongVarint();
  [[noreturn]] void ThrowPastEnd(std::uint64_t wanted) const;

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  std::uint64_t base_;
};

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Without the mark of UTF-8 and the white space that text may begin with.
inline std::string_view AfterSpace(std::string_view text) {
  text.remove_prefix(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

}  // namespace memtool::formats
