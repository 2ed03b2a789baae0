#include "hlo/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hlo/packed.h"
#include "support/wire.h"

namespace memtool::formats::hlo {

namespace {

struct ElementKind {
  std::uint64_t number;
  std::string_view name;
  std::int64_t bits;  // 0: has none
};
// xla_data.proto, PrimitiveType.
constexpr std::array<ElementKind, 35> kElements{{
    {1, "pred", 8},
    {2, "s8", 8},
    {3, "s16", 16},
    {4, "s32", 32},
    {5, "s64", 64},
    {6, "u8", 8},
    {7, "u16", 16},
    {8, "u32", 32},
    {9, "u64", 64},
    {10, "f16", 16},
    {11, "f32", 32},
    {12, "f64", 64},
    {13, "tuple", 0},
    {14, "opaque", 0},
    {15, "c64", 64},
    {16, "bf16", 16},
    {17, "token", 0},
    {18, "c128", 128},
    {19, "f8e5m2", 8},
    {20, "f8e4m3fn", 8},
    {21, "s4", 4},
    {22, "u4", 4},
    {23, "f8e4m3b11fnuz", 8},
    {24, "f8e5m2fnuz", 8},
    {25, "f8e4m3fnuz", 8},
    {26, "s2", 2},
    {27, "u2", 2},
    {28, "f8e4m3", 8},
    {29, "f8e3m4", 8},
    {30, "s1", 1},
    {31, "u1", 1},
    {32, "f4e2m1fn", 4},
    {33, "f8e8m0fnu", 8},
    {34, "buffer", 0},
    {0, "", 0},
}};
constexpr std::uint64_t kTuple = 13;
constexpr std::int64_t kBitsPerByte = 8;

const ElementKind* FindElement(std::uint64_t number) {
  const auto* const found =
      std::find_if(kElements.begin(), kElements.end(),
                   [&](const ElementKind& kind) { return kind.number == number; });
  return found == kElements.end() || number == 0 ? nullptr : found;
}

// Bytes of `dimensions` elements of `bits`; none when they do not fit.
std::optional<std::int64_t> Unpadded(std::int64_t bits, std::span<const std::int64_t> dimensions) {
  std::int64_t all = bits;
  for (const std::int64_t dimension : dimensions) {
    if (dimension < 0 || __builtin_mul_overflow(all, dimension, &all)) {
      return std::nullopt;
    }
  }
  return all / kBitsPerByte + (all % kBitsPerByte == 0 ? 0 : 1);
}

ShapeLevel ReadLevel(ByteCursor shape) {
  ShapeLevel level;
  while (!shape.done()) {
    const wire::Field field = wire::Next(shape);
    if (field.number == 2) {
      level.type = field.Varint("element_type");
    } else if (field.number == 3) {
      ForEachInt(field, "dimensions", [&](std::uint64_t value) {
        level.dimensions.push_back(static_cast<std::int64_t>(value));
      });
    } else if (field.number == 4) {
      level.parts.push_back(field.Message("tuple_shapes"));
    }
  }
  return level;
}

}  // namespace

ShapeReader::ShapeReader(ByteCursor shape) : root_(ReadLevel(shape)) {}

ShapeFacts ShapeReader::At(std::span<const std::uint64_t> index) {
  const ShapeLevel* level = &root_;
  ShapeLevel leaf;
  if (!index.empty()) {
    const std::span<const std::uint64_t> prefix = index.first(index.size() - 1);
    if (!prefix.empty() &&
        !std::equal(prefix.begin(), prefix.end(), prefix_.begin(), prefix_.end())) {
      ShapeLevel down = root_;
      for (const std::uint64_t part : prefix) {
        if (part >= down.parts.size()) {
          return {};
        }
        down = ReadLevel(down.parts[static_cast<std::size_t>(part)]);
      }
      last_ = std::move(down);
      prefix_.assign(prefix.begin(), prefix.end());
    }
    const ShapeLevel& parent = prefix.empty() ? root_ : last_;
    if (index.back() >= parent.parts.size()) {
      return {};
    }
    leaf = ReadLevel(parent.parts[static_cast<std::size_t>(index.back())]);
    level = &leaf;
  }
  if (level->type == kTuple) {
    return {
        .text = fmt::format("({} parts)", level->parts.size()), .dtype = "tuple", .unpadded = {}};
  }
  return ArrayShape(level->type, level->dimensions);
}

ShapeFacts ArrayShape(std::uint64_t element_type, std::span<const std::int64_t> dimensions) {
  const ElementKind* const kind = FindElement(element_type);
  if (kind == nullptr) {
    return {};
  }
  ShapeFacts facts{.text = fmt::format("{}[{}]", kind->name, fmt::join(dimensions, ",")),
                   .dtype = std::string(kind->name),
                   .unpadded = {}};
  if (kind->bits > 0) {
    facts.unpadded = Unpadded(kind->bits, dimensions);
  }
  return facts;
}

std::uint64_t ElementType(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto* const found =
      std::find_if(kElements.begin(), kElements.end(),
                   [&](const ElementKind& kind) { return kind.name == lower; });
  return found == kElements.end() ? 0 : found->number;
}

}  // namespace memtool::formats::hlo
