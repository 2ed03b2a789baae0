// The columns of an answer as Python and Arrow take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/column.h"

namespace memtool::python {

// Text in UTF-8, each different one once; codes as narrow as pandas keeps them, -1 = missing.
struct Categories {
  std::variant<std::vector<std::int8_t>, std::vector<std::int16_t>, std::vector<std::int32_t>>
      codes;
  std::vector<std::string> words;
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

// What Python keeps of an answer: it refers to nothing else.
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
std::string_view UnitName(Unit unit, std::string_view unit_of_answer);

}  // namespace memtool::python
