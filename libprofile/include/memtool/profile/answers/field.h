// Fields: the columns of an answer, declared once. JSON, CSV, tables and bindings take keys,
// titles, units and values from the same declaration:
//
//   inline constexpr auto kTopFields = Fields<TopRow>({
//       {"flat", "FLAT", Unit::kAmount, &TopRow::flat},
//       {"line", "LINE", Unit::kOrdinal, [](const TopRow& row) { return LineValue(row.line); }},
//   });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "memtool/profile/answers/value.h"

namespace memtool {

enum class Unit : std::uint8_t {
  kText,
  kAmount,   // in the unit of the answer: bytes, or a count
  kBytes,    // always bytes
  kCount,    // how many
  kOrdinal,  // which one: a line, a device, an event
  kRatio,    // 0.25 = 25 %
  kMicroseconds,
  kAddress,  // an address or a handle: "0x7f00" in text, where 2^53 is not enough
  kNested,   // lists and objects
};

struct FieldInfo {
  std::string_view key;
  std::string_view title;
  Unit unit = Unit::kText;
};

template <class Row>
struct Field {
  using Getter =
      std::variant<std::int64_t Row::*, std::uint64_t Row::*, std::int32_t Row::*, double Row::*,
                   bool Row::*, std::string Row::*, std::optional<std::int64_t> Row::*,
                   std::optional<double> Row::*, Value (*)(const Row&)>;
  std::string_view key;    // stable: JSON and CSV
  std::string_view title;  // of its column in tables; empty = only in data formats
  Unit unit = Unit::kText;
  Getter get;

  [[nodiscard]] Value Of(const Row& row) const {
    return std::visit(
        [&row](const auto& getter) -> Value {
          if constexpr (std::is_member_pointer_v<std::decay_t<decltype(getter)>>) {
            return Value(row.*getter);
          } else {
            return getter(row);
          }
        },
        get);
  }
};

template <class Row, std::size_t kCount>
constexpr std::array<Field<Row>, kCount> Fields(const Field<Row> (&fields)[kCount]) {  // NOLINT
  return std::to_array(fields);
}

// A line of a file: null where there is none.
inline Value LineValue(std::int64_t line) {
  return line > 0 ? Value(line) : Value();
}

}  // namespace memtool
