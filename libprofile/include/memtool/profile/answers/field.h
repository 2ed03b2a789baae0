// Fields: the columns of an answer, declared once. JSON, CSV, tables, bindings, `memtool help
// columns` and the JSON Schema of the answer are made from the same declaration:
//
//   inline constexpr auto kTopFields = Fields<TopRow>({
//       {"flat", "FLAT", Unit::kAmount, &TopRow::flat, "what the row itself allocated"},
//       {"line", "", Unit::kOrdinal, [](const TopRow& row) { return LineValue(row.line); },
//        "the line in that file"},
//       {"saves", "SAVES", Unit::kAmount, kInWords, "what the peak would lose", Drop(2)},
//   });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "memtool/profile/answers/getter.h"
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

// How a table lays a column out. Text is on the left and is cut in its middle to fit a terminal.
struct Layout {
  // The order in which columns are left out to fit a terminal, the highest first; 0 = never, for
  // what the command is about.
  int drop = 0;
  bool fixed = false;    // text that is never cut
  bool left = false;     // on the left although it is no text
  bool path = false;     // text that is cut from the left
  bool lines = false;    // lines of text joined by '\n', indented from the second on
  bool wrap = false;     // wraps into further lines; only the last column
  bool signs = false;    // a difference: with + or -, and coloured by it
  bool unknown = false;  // null is the word "unknown" and not an empty cell
  bool nests = false;    // left out of CSV, which has the same as text
  std::size_t room = 0;  // width below which other columns give way; 0 = as for a name
};

// Layouts, as fields name them: Drop(2) | kPath.
constexpr Layout operator|(const Layout& a, const Layout& b) {
  return {.drop = a.drop + b.drop,
          .fixed = a.fixed || b.fixed,
          .left = a.left || b.left,
          .path = a.path || b.path,
          .lines = a.lines || b.lines,
          .wrap = a.wrap || b.wrap,
          .signs = a.signs || b.signs,
          .unknown = a.unknown || b.unknown,
          .nests = a.nests || b.nests,
          .room = a.room + b.room};
}
constexpr Layout Drop(int order) {
  return {.drop = order};
}
inline constexpr Layout kPlain{};
inline constexpr Layout kFixed{.fixed = true};
inline constexpr Layout kLeft{.left = true};
inline constexpr Layout kPath{.path = true};
inline constexpr Layout kLines{.lines = true};
inline constexpr Layout kWrap{.wrap = true};
inline constexpr Layout kSigns{.signs = true};
inline constexpr Layout kNests{.nests = true};
inline constexpr Layout kOrUnknown{.unknown = true};
inline constexpr Layout kPlaces{.room = 24};  // a name and its place, "forward linear.py:5"
// In place of a getter: the command says what the cells are. Only tables have such a field, unless
// it has a type.
inline constexpr std::monostate kInWords{};

// A field without the type of its row.
struct FieldInfo {
  std::string_view key;
  std::string_view title;
  Unit unit = Unit::kText;
  std::string_view meaning{};
  std::string_view type{};  // see Field::type; never empty where it comes from a Field
  Layout layout{};
  bool in_data = true;  // false: only tables have it
};

// What JSON holds where the declaration of a field says nothing else, in the notation of
// Field::type.
std::string_view TypeOf(GetterKind getter, Unit unit);

template <class Row>
struct Field {
  std::string_view key;    // stable: JSON and CSV
  std::string_view title;  // of its column in tables; empty = only in data formats
  Unit unit = Unit::kText;
  Getter<Row> get;
  std::string_view meaning{};  // a sentence without its full stop
  Layout layout{};
  // What JSON holds, where it does not follow from unit and getter, in the notation of TypeScript:
  // `"new"|"gone"`, `integer|null`, `{name: string, line?: integer}[]`; natural is an integer that
  // is not negative. A "?" at the end: only some answers have the field.
  std::string_view type{};

  [[nodiscard]] Value Of(const Row& row) const { return get.Of(row, unit == Unit::kAddress); }
  // Whether it has values without the words of a command.
  [[nodiscard]] bool in_data() const { return get.kind() != GetterKind::kNone; }
  [[nodiscard]] FieldInfo Info() const {
    const bool made = !in_data() && type.empty();
    return {key,    title, unit, meaning, type.empty() ? TypeOf(get.kind(), unit) : type,
            layout, !made};
  }
};

template <class Row, std::size_t kCount>
constexpr std::array<Field<Row>, kCount> Fields(const Field<Row> (&fields)[kCount]) {  // NOLINT
  return std::to_array(fields);
}

// A line of a file: null where there is none.
inline std::optional<std::int64_t> LineValue(std::int64_t line) {
  return line > 0 ? std::optional(line) : std::nullopt;
}

}  // namespace memtool
