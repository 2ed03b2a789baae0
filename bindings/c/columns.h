// The columns of an answer as arrays of numbers, and as Arrow takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/column.h"

namespace memtool::c {

// Texts one after the other: number n is bytes[ends[n]] up to bytes[ends[n + 1]].
struct Strings {
  std::vector<std::int64_t> ends{0};
  std::string bytes;

  void Add(std::string_view text) {
    bytes += text;
    ends.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  [[nodiscard]] std::size_t size() const { return ends.size() - 1; }
};

// Text in UTF-8, each different one once; codes as narrow as pandas keeps them, -1 = missing.
struct Categories {
  std::variant<std::vector<std::int8_t>, std::vector<std::int16_t>, std::vector<std::int32_t>>
      codes;
  Strings words;
};

struct TableColumn {
  using Data =
      std::variant<std::vector<std::int64_t>, std::vector<std::int32_t>, std::vector<std::uint64_t>,
                   std::vector<double>, AnswerColumn::Truths, Categories, std::vector<Value>>;
  std::string key;
  std::string title;
  Unit unit = Unit::kText;
  Data data{};
  std::vector<std::uint8_t> missing{};  // 1 = missing; empty = nothing is
};

// What a caller keeps of an answer: it refers to nothing else.
struct Table {
  std::string question;
  std::vector<InputNote> inputs;
  std::string sample_type;
  std::string unit;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::pair<std::string, Value>> figures;
  std::vector<TableColumn> columns;
  std::size_t rows = 0;
};

Table ToTable(const AnswerView& answer, std::size_t limit);

// What a column's unit is called: "bytes", "text".
const char* UnitName(Unit unit, const std::string& unit_of_answer);

}  // namespace memtool::c
