// An answer as columns, for those who compute with it: arrays of numbers, and words by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "memtool/profile/answers/field.h"
#include "memtool/profile/answers/value.h"

namespace memtool {

struct AnswerView;

// One field of all rows. What addresses are in text ("0x7f00") are numbers here; lists, objects and
// what does not go with one type stay values.
struct AnswerColumn {
  // Text, each different one once.
  struct Words {
    std::vector<std::int32_t> codes;  // per row, an index into `words`; -1 = missing
    std::vector<std::string> words;   // in order of first use; bytes, of any encoding
  };
  struct Truths {
    std::vector<std::uint8_t> values;  // 0 or 1
  };
  using Data =
      std::variant<std::vector<std::int64_t>, std::vector<std::int32_t>, std::vector<std::uint64_t>,
                   std::vector<double>, Truths, Words, std::vector<Value>>;

  std::string key;
  std::string title;  // of its column in tables; empty = only in data formats
  Unit unit = Unit::kText;
  Data data{};
  // Per row 1 = missing: what `data` has there says nothing. Empty: every row has a value. Words
  // and values mark missing rows themselves.
  std::vector<std::uint8_t> missing{};
};

struct AnswerColumns {
  std::vector<AnswerColumn> columns;
  std::size_t rows = 0;
};

// Of the rows that an answer holds the first `limit`, 0 = all, and all that it streams. A column
// per field, with the answer's keys; only the "id" of an event's block is its "version" here, the
// number at its end, because what comes before that is the address.
AnswerColumns MakeColumns(const AnswerView& answer, std::size_t limit);

// Makes a column of values that come one by one.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const FieldInfo& field);
  ~ColumnBuilder();
  ColumnBuilder(ColumnBuilder&&) noexcept;
  ColumnBuilder(const ColumnBuilder&) = delete;
  ColumnBuilder& operator=(ColumnBuilder&&) = delete;
  ColumnBuilder& operator=(const ColumnBuilder&) = delete;
  void Add(const Value& value);
  [[nodiscard]] AnswerColumn Make() &&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace memtool
