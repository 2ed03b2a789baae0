// Shapes of XLA's ShapeProto, read without recursion.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_cursor.h"

namespace memtool::formats::hlo {

struct ShapeFacts {
  std::string text;                      // "f32[16,64]", "(4 parts)"; empty when not known
  std::string dtype;                     // "f32", "tuple"
  std::optional<std::int64_t> unpadded;  // bytes without padding
};

// The direct parts of a shape.
struct ShapeLevel {
  std::uint64_t type = 0;
  std::vector<std::int64_t> dimensions;
  std::vector<ByteCursor> parts;
};

// One ShapeProto and its parts. Views the bytes.
class ShapeReader {
 public:
  explicit ShapeReader(ByteCursor shape);
  // The part at `index`, which goes down through tuples; nothing is known of an index that leads
  // nowhere.
  ShapeFacts At(std::span<const std::uint64_t> index);

 private:
  ShapeLevel root_;
  std::vector<std::uint64_t> prefix_;  // of what was asked last, with its level: parts of a long
  ShapeLevel last_;                    // tuple are asked one after the other
};

// Text and bytes of an array's shape.
ShapeFacts ArrayShape(std::uint64_t element_type, std::span<const std::int64_t> dimensions);

// XLA's number of a type by its name in JSON ("F32"); 0 when there is none.
std::uint64_t ElementType(std::string_view name);

}  // namespace memtool::formats::hlo
