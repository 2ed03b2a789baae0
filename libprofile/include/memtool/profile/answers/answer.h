// The parts common to all answers, and the type-erased view that writers read.
#pragma once

#include <algorithm>
#include <array>
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
  // `index`: of the recording's history, where it is known.
  void Add(const Recording& recording, std::string_view path, std::string_view moment,
           const HistoryIndex* index = nullptr);
};

// A pass over rows: each call makes the next one, which lives until the call after it; null at the
// end. Whoever reads it may take what the row holds.
template <class Row>
using RowStream = std::function<Row*()>;

// A pass over rows that are held, the first `limit` of them; 0 = all.
template <class Row>
RowStream<const Row> StreamRows(std::span<const Row> rows, std::size_t limit = 0) {
  return [rows = rows.first(limit == 0 ? rows.size() : std::min(limit, rows.size())),
          next = std::size_t{0}]() mutable { return next < rows.size() ? &rows[next++] : nullptr; };
}

// A type-erased answer. Holds references: valid only while the answer lives.
struct AnswerView {
  using Values = std::vector<Value>;

  const AnswerHead* head = nullptr;
  std::vector<NamedValue> figures;  // besides the rows, in order
  std::vector<FieldInfo> fields;
  std::size_t row_count = 0;  // rows that are held, which a limit may cut; 0 where they are made
  // Begins a pass over the rows as values, one per field, made when they are asked for: the first
  // `limit` of those that are held, 0 = all; no limit cuts those that are made.
  std::function<RowStream<Values>(std::size_t limit)> rows;
  std::uint64_t skipped_rows = 0;  // rows never created because of a row limit
  // All rows as columns, if the answer can produce these much faster than row by row; else empty.
  // Called with the fields wanted, in order.
  std::function<AnswerColumns(std::span<const FieldInfo> fields)> columns{};

  // How many rows a limit cuts.
  [[nodiscard]] std::uint64_t CutBy(std::size_t limit) const {
    return skipped_rows + (limit == 0 || limit > row_count ? 0 : row_count - limit);
  }
};

// `begin(limit)` begins a pass over typed rows.
template <class Row, class Begin>
AnswerView ViewStream(const AnswerHead& head, std::vector<NamedValue> figures,
                      std::vector<Field<Row>> fields, Begin begin) {
  std::erase_if(fields, [](const Field<Row>& field) { return !field.in_data(); });
  AnswerView view{.head = &head, .figures = std::move(figures)};
  for (const Field<Row>& field : fields) {
    view.fields.push_back(field.Info());
  }
  view.rows = [begin = std::move(begin), fields = std::move(fields)](std::size_t limit) {
    return RowStream<AnswerView::Values>(
        [next = begin(limit), fields, values = AnswerView::Values()]() mutable {
          const Row* row = next();
          values.clear();
          for (std::size_t i = 0; row != nullptr && i < fields.size(); ++i) {
            values.push_back(fields[i].Of(*row));
          }
          return row == nullptr ? nullptr : &values;
        });
  };
  return view;
}

template <class Row>
AnswerView ViewRows(const AnswerHead& head, std::vector<NamedValue> figures,  // NOLINT: moved
                    std::span<const Row> rows, std::vector<Field<Row>> fields) {
  AnswerView view = ViewStream<Row>(head, std::move(figures), std::move(fields),
                                    [rows](std::size_t limit) { return StreamRows(rows, limit); });
  view.row_count = rows.size();
  return view;
}

template <class Row, std::size_t kCount>
AnswerView ViewRows(const AnswerHead& head, std::vector<NamedValue> figures,
                    const std::vector<Row>& rows, const std::array<Field<Row>, kCount>& fields) {
  return ViewRows<Row>(head, std::move(figures), std::span<const Row>(rows),
                       std::vector<Field<Row>>(fields.begin(), fields.end()));
}

}  // namespace memtool
