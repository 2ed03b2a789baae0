// The rows of Ascend's tables, one at a time; those of a folder follow each other in one text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ascend/csv/bad_rows.h"
#include "ascend/csv/csv_table.h"
#include "ascend/csv/csv_values.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats::ascend {

class CsvRows {
 public:
  // The header is the first line. Throws ReadError where it is none.
  CsvRows(ByteWindow& in, const Limits& limits);

  [[nodiscard]] const CsvTable& table() const { return table_; }
  // The next row of the table, without repeated headers and empty lines; false at its end. Throws
  // ReadError (kLimit) where there are more than the limit on samples.
  bool Next();
  // Goes on with the table that follows; false where none does.
  bool NextTable();
  // Its number, from 1.
  [[nodiscard]] std::uint32_t row() const { return row_; }
  [[nodiscard]] std::string_view Get(Column column) const { return table_.Get(fields_, column); }

  // Amounts and times of the row. None where the field is empty; where something else is in it, the
  // row is a bad one. Throws ReadError for a time that a spreadsheet has rounded.
  std::optional<Amount> GetAmount(Column column);
  std::optional<std::int64_t> GetTime(Column column);
  // Whether all fields asked for so far could be read.
  [[nodiscard]] bool good() const { return good_; }
  // Counts the row as one that is no row.
  void SkipBad() { bad_.Add(lines_); }
  void AddDiagnostics(RecordingBuilder& builder) const;

 private:
  Lines lines_;
  std::uint64_t max_rows_;
  std::uint32_t row_ = 0;
  std::string header_;
  CsvTable table_;
  std::optional<CsvTable> following_;  // its header was read last
  CsvFields fields_{CsvPadding::kBlanks};
  bool good_ = true;
  BadRows bad_;
};

}  // namespace memtool::formats::ascend
