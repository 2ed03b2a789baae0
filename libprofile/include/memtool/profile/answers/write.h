// Answers as data: the one JSON form, and CSV. Schemas: tests/schema. Integers are raw, text is
// UTF-8 with the invisible made visible; equal answers are equal bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "memtool/profile/answers/answer.h"

namespace memtool {

using TextSink = std::function<void(std::string_view)>;

// `limit`: how many of the rows that are held to write; 0 = all. "rows_cut" counts the rest.
void WriteJson(const AnswerView& answer, std::size_t limit, const TextSink& out);
// The same with "columns" instead of "rows": an object of lists of equal length, one per field.
// Holds all of its text.
void WriteJsonColumns(const AnswerView& answer, std::size_t limit, const TextSink& out);
// One object per row and line, without the figures besides the rows.
void WriteJsonLines(const AnswerView& answer, std::size_t limit, const TextSink& out);
// A header of keys, then a line per row; fields of lists and objects are JSON.
void WriteCsv(const AnswerView& answer, std::size_t limit, const TextSink& out);
// A value as JSON, without escaping the invisible.
std::string ToJson(const Value& value);

}  // namespace memtool
