// What every answer has, whatever its question, and an answer as writers see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/answers/column.h"
#include "memtool/profile/answers/field.h"
#include "memtool/profile/answers/value.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// What an answer was made from.
struct InputNote {
  std::string path;
  std::string format;  // Metadata::format
  std::string moment = "end";
  Value::Object details{};  // more keys of the input's object
};

struct AnswerHead {
  std::string_view question;  // "top" → schema memtool.top/1
  std::vector<InputNote> inputs;
  std::string sample_type;
  std::string unit;  // "bytes", or what is counted
  std::vector<Diagnostic> diagnostics;

  // Notes an input and its diagnostics (equal codes are one); from the first selection also the
  // sample type and unit.
  void Add(const Selection& selection);
  void Add(const Recording& recording, std::string_view path, std::string_view moment);
};

// Makes one row per call, until it returns false.
using NextRow = std::function<bool(std::vector<Value>&)>;

// An answer without its types, by reference: valid as long as the answer is.
struct AnswerView {
  const AnswerHead* head = nullptr;
  std::vector<NamedValue> figures;  // besides the rows, in order
  std::vector<FieldInfo> fields;
  std::size_t row_count = 0;
  // The values of one row, one per field. Rows are made when they are written.
  std::function<void(std::size_t row, std::vector<Value>& values)> row;
  // For answers too long to hold: begins a pass over further rows, which no limit cuts.
  std::function<NextRow()> further;
  std::uint64_t unmade_rows = 0;  // rows that a limit kept from being made at all
  // All rows as columns, where that takes much less than making them one by one; else empty. For
  // those of `fields` at the time of the call, in their order.
  std::function<AnswerColumns(std::span<const FieldInfo> fields)> columns;
};

template <class Row>
AnswerView ViewRows(const AnswerHead& head, std::vector<NamedValue> figures,  // NOLINT: moved
                    std::span<const Row> rows, std::vector<Field<Row>> fields) {
  AnswerView view{.head = &head, .figures = std::move(figures), .row_count = rows.size()};
  for (const Field<Row>& field : fields) {
    view.fields.push_back({field.key, field.title, field.unit});
  }
  view.row = [rows, fields = std::move(fields)](std::size_t row, std::vector<Value>& values) {
    values.clear();
    for (const Field<Row>& field : fields) {
      values.push_back(field.Of(rows[row]));
    }
  };
  return view;
}

template <class Row, std::size_t kCount>
AnswerView ViewRows(const AnswerHead& head, std::vector<NamedValue> figures,
                    const std::vector<Row>& rows, const std::array<Field<Row>, kCount>& fields) {
  return ViewRows<Row>(head, std::move(figures), std::span<const Row>(rows),
                       std::vector<Field<Row>>(fields.begin(), fields.end()));
}

}  // namespace memtool
