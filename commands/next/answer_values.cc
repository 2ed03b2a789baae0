#include "next/answer_values.h"

#include <algorithm>

namespace memtool::commands {

const Value* ValueOf(const AnswerView& answer, const AnswerView::Values& row,
                     std::string_view key) {
  const auto found = std::find_if(answer.fields.begin(), answer.fields.end(),
                                  [key](const FieldInfo& field) { return field.key == key; });
  return found == answer.fields.end()
             ? nullptr
             : &row[static_cast<std::size_t>(found - answer.fields.begin())];
}

std::string TextOf(const Value& value) {
  if (const auto* shared = std::get_if<SharedText>(&value.data())) {
    return shared->str();
  }
  const auto* text = std::get_if<std::string>(&value.data());
  return text == nullptr ? std::string() : *text;
}

std::int64_t NumberOf(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.data())) {
    return *number;
  }
  const auto* natural = std::get_if<std::uint64_t>(&value.data());
  return natural == nullptr
             ? 0
             : static_cast<std::int64_t>(std::min<std::uint64_t>(*natural, INT64_MAX));
}

}  // namespace memtool::commands
