// Single values of an answer, for those who ask about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memtool/profile/answers/answer.h"

namespace memtool::commands {

// The value of a row under that key; null where the answer has no such field.
const Value* ValueOf(const AnswerView& answer, const AnswerView::Values& row, std::string_view key);

// Empty and 0 for what is no text and no whole number.
std::string TextOf(const Value& value);
std::int64_t NumberOf(const Value& value);

}  // namespace memtool::commands
