// What readers of self-describing data (pickle, JSON) hand to the builder of a format: a value of
// 16 bytes. Scalars are held in it; containers are whatever the builder made of them, so no tree of
// the input is ever built.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace memtool::formats {

// Kinds below 32 can be shared freely; from 32 on they are containers that a later opcode may still
// add to.
enum class ValueKind : std::uint8_t {
  kNone,
  kBool,
  kInt,                 // payload: the bits of an int64
  kBigUint,             // payload: an integer above the largest int64
  kFloat,               // payload: the bits of a double
  kString,              // payload: what the builder made of it
  kOpaque,              // bytes and other things that have no use here
  kFirstOfBuilder = 8,  // 8..31 are the builder's own
  kEmptyList = 32,
  kEmptyDict = 33,
  kFirstContainerOfBuilder = 34,  // 34..63 are the builder's own
};

constexpr bool IsContainer(ValueKind kind) {
  return kind >= ValueKind::kEmptyList;
}

struct Value {
  std::uint64_t payload = 0;
  std::uint32_t memo = 0;  // 1 + the memo entry that holds the same value; 0 = none
  ValueKind kind = ValueKind::kNone;
  bool shared = false;  // a memo entry's copy: the container itself is elsewhere
  bool row = false;     // payload is a RowRun; neighbours in a list are joined
  bool unused = false;  // explicit padding, so that a copy is one move of 16 bytes

  [[nodiscard]] std::int64_t Int() const { return static_cast<std::int64_t>(payload); }
  [[nodiscard]] double Float() const { return std::bit_cast<double>(payload); }
  [[nodiscard]] std::uint32_t Low() const { return static_cast<std::uint32_t>(payload); }
  [[nodiscard]] std::uint32_t High() const { return static_cast<std::uint32_t>(payload >> 32U); }

  static Value Of(ValueKind kind, std::uint64_t payload) {
    return {.payload = payload, .kind = kind};
  }
  static Value OfInt(std::int64_t value) {
    return Of(ValueKind::kInt, static_cast<std::uint64_t>(value));
  }
  static Value OfFloat(double value) {
    return Of(ValueKind::kFloat, std::bit_cast<std::uint64_t>(value));
  }
  static Value OfBool(bool value) { return Of(ValueKind::kBool, value ? 1 : 0); }
  // `count` rows from `first` on of one of the builder's tables.
  static Value OfRows(ValueKind kind, std::uint32_t first, std::uint32_t count) {
    return Of(kind, first | std::uint64_t{count} << 32U);
  }
};
static_assert(sizeof(Value) == 16);

// Joins `next` to `last` when both are rows of one table and follow each other. A list of millions
// of rows, written as one batch, then takes one place on the stack.
inline bool JoinRows(Value& last, const Value& next) {
  const bool joins = next.row && last.row && last.kind == next.kind && !last.shared &&
                     !next.shared && last.Low() + last.High() == next.Low();
  if (joins) {
    last.payload += std::uint64_t{next.High()} << 32U;
    last.memo = 0;
  }
  return joins;
}

class DataBuilder {
 public:
  virtual ~DataBuilder() = default;
  // `offset` is where in the input the thing ends, for error messages.
  virtual Value String(std::string_view text, std::uint64_t offset) = 0;
  // Adds key, value, key, value, ... to a dict that was empty or made by this function.
  virtual Value Dict(const Value& dict, std::span<const Value> pairs, std::uint64_t offset) = 0;
  // A number for dicts that were empty and get the keys of these pairs, in this order; none where
  // they have to go to Dict().
  virtual std::optional<std::uint32_t> Plan(std::span<const Value> /*pairs*/) {
    return std::nullopt;
  }
  // Such a dict. Of `pairs`, only the values are set: its keys are those of the plan.
  virtual Value PlannedDict(std::uint32_t /*plan*/, std::span<const Value> /*pairs*/,
                            std::uint64_t /*offset*/) {
    return {};
  }
  // Adds items to a list that was empty or made by this function.
  virtual Value List(const Value& list, std::span<const Value> items, std::uint64_t offset) = 0;
  virtual Value Tuple(std::span<const Value> items, std::uint64_t offset) = 0;
  // The text of a string value, for error messages.
  [[nodiscard]] virtual std::string_view Text(const Value& value) const = 0;

  DataBuilder() = default;
  DataBuilder(const DataBuilder&) = delete;
  DataBuilder& operator=(const DataBuilder&) = delete;
};

}  // namespace memtool::formats
