#include "columns.h"

#include <limits>
#include <utility>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::c {

namespace {

template <class Code>
std::vector<Code> Narrow(const std::vector<std::int32_t>& codes) {
  std::vector<Code> narrow;
  narrow.reserve(codes.size());
  for (const std::int32_t code : codes) {
    narrow.push_back(static_cast<Code>(code));
  }
  return narrow;
}

// pandas keeps codes in as few bytes as the number of words allows.
Categories Narrowed(std::vector<std::int32_t> codes, Strings words) {
  if (words.size() < static_cast<std::size_t>(std::numeric_limits<std::int8_t>::max())) {
    return {Narrow<std::int8_t>(codes), std::move(words)};
  }
  if (words.size() < static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max())) {
    return {Narrow<std::int16_t>(codes), std::move(words)};
  }
  return {std::move(codes), std::move(words)};
}

// Bytes that differ only in what is not UTF-8 become one word.
Categories MakeCategories(AnswerColumn::Words column) {
  Strings words;
  std::vector<std::int32_t> numbers;  // per word of the column
  KeyMap<std::string, std::int32_t> known;
  for (const std::string& word : column.words) {
    std::string text = ToUtf8(word);
    const auto [found, added] =
        known.emplace(std::move(text), static_cast<std::int32_t>(words.size()));
    if (added) {
      words.Add(found->first);
    }
    numbers.push_back(found->second);
  }
  if (words.size() < column.words.size()) {
    for (std::int32_t& code : column.codes) {
      code = code < 0 ? code : numbers[static_cast<std::size_t>(code)];
    }
  }
  return Narrowed(std::move(column.codes), std::move(words));
}

TableColumn::Data ToData(AnswerColumn::Data data) {
  return std::visit(
      [](auto&& values) -> TableColumn::Data {
        using Values = std::decay_t<decltype(values)>;
        if constexpr (std::is_same_v<Values, AnswerColumn::Words>) {
          return MakeCategories(std::forward<decltype(values)>(values));
        } else {
          return std::forward<decltype(values)>(values);
        }
      },
      std::move(data));
}

}  // namespace

Table ToTable(const AnswerView& answer, std::size_t limit) {
  const AnswerHead& head = *answer.head;
  Table table{.question = std::string(head.question),
              .inputs = head.inputs,
              .sample_type = ToUtf8(head.sample_type),
              .unit = ToUtf8(head.unit),
              .diagnostics = head.diagnostics};
  for (const auto& [key, value] : answer.figures) {
    table.figures.emplace_back(key, value);
  }
  AnswerColumns columns = MakeColumns(answer, limit);
  table.figures.emplace_back("rows_cut", answer.CutBy(limit));
  table.rows = columns.rows;
  for (AnswerColumn& column : columns.columns) {
    table.columns.push_back({.key = std::move(column.key),
                             .title = ToUtf8(column.title),
                             .unit = column.unit,
                             .data = ToData(std::move(column.data)),
                             .missing = std::move(column.missing)});
  }
  return table;
}

const char* UnitName(Unit unit, const std::string& unit_of_answer) {
  switch (unit) {
    case Unit::kText:
      return "text";
    case Unit::kAmount:
      return unit_of_answer.c_str();
    case Unit::kBytes:
      return "bytes";
    case Unit::kCount:
      return "count";
    case Unit::kOrdinal:
      return "ordinal";
    case Unit::kRatio:
      return "ratio";
    case Unit::kMicroseconds:
      return "microseconds";
    case Unit::kAddress:
      return "address";
    case Unit::kNested:
      return "nested";
  }
  return "";
}

}  // namespace memtool::c
