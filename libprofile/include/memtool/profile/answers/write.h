// Answers as data: the one JSON form, and CSV. Schemas: tests/schema. Integers are raw, text is
// UTF-8 with the invisible made visible; equal answers are equal bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"

namespace memtool {

using TextSink = std::function<void(std::string_view)>;

// `limit`: how many of the rows that are held to write; 0 = all. "rows_cut" counts the rest.
void WriteJson(const AnswerView& answer, std::size_t limit, const TextSink& out);
// One object per row and line, without the figures besides the rows.
void WriteJsonLines(const AnswerView& answer, std::size_t limit, const TextSink& out);
// A header of keys, then a line per row; fields of lists and objects are JSON.
void WriteCsv(const AnswerView& answer, std::size_t limit, const TextSink& out);

constexpr std::size_t kMaxColumnBytes = std::size_t{512} << 20U;  // of JSON that is held
// Each field of the rows as a JSON list, all of equal length. Errors: kLimit where they are longer
// than `max_bytes` together.
Result<std::vector<std::string>> MakeJsonColumns(const AnswerView& answer, std::size_t limit,
                                                 std::size_t max_bytes = kMaxColumnBytes);
// As WriteJson, with these lists as the object "columns" instead of "rows".
void WriteJsonColumns(const AnswerView& answer, std::size_t limit,
                      const std::vector<std::string>& columns, const TextSink& out);

// A value as JSON, without escaping the invisible.
std::string ToJson(const Value& value);

}  // namespace memtool
