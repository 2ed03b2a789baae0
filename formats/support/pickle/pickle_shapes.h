// Shapes of dicts: the keys of those that were read, as the bytes that refer to them. A snapshot
// holds millions of dicts of a few shapes. One that begins with a known shape is read in one pass
// that compares its keys as words and takes the values; anything that is otherwise is left, as if
// it had not been looked at, to the machine that reads opcode by opcode (PickleMachine).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/data_value.h"

namespace memtool::formats {

class PickleShapes {
 public:
  static constexpr std::size_t kMaxKeys = 32;

  struct Key {
    Value value;             // as the memo gives it
    std::uint64_t word = 0;  // BINGET or LONG_BINGET with its operand, little endian
    std::uint64_t mask = 0;  // the bytes of a word that count
    std::size_t size = 0;    // how many
  };
  struct Shape {
    std::vector<Key> keys;
    std::optional<std::uint32_t> plan;  // the builder's, if it has one
  };

  // Remembers the keys of a dict's pairs, unless they are known or some are not in the memo.
  void Learn(std::span<const Value> pairs, DataBuilder& builder);

  [[nodiscard]] std::size_t size() const { return used_; }
  // The one that was used last has number 0.
  [[nodiscard]] const Shape& operator[](std::size_t number) const {
    return shapes_[order_[number]];
  }
  void Used(std::size_t number);

 private:
  static constexpr std::size_t kMaxShapes = 8;

  [[nodiscard]] static bool Same(const Shape& shape, std::span<const Value> pairs);

  std::array<Shape, kMaxShapes> shapes_;
  std::array<std::uint8_t, kMaxShapes> order_{};
  std::size_t used_ = 0;
};

}  // namespace memtool::formats
