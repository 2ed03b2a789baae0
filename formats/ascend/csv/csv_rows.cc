#include "ascend/csv/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats::ascend {

CsvRows::CsvRows(ByteWindow& in, const Limits& limits)
    : lines_(in, limits), max_rows_(std::min<std::uint64_t>(limits.samples, UINT32_MAX)) {
  std::string_view line;
  lines_.Next(line);
  const auto table = CsvTable::FromHeader(line);
  if (!table) {
    ThrowRead(ErrorCode::kMalformed, 0, "line 1", "the titles of no table of Ascend's profilers",
              "they are operator_memory.csv, memory_record.csv, npu_module_mem.csv, npu_mem.csv, "
              "static_op_mem.csv and MindSpore's memory_block.csv");
  }
  table_ = *table;
  header_ = line;
}

bool CsvRows::Next() {
  std::string_view line;
  do {
    if (following_ || !lines_.Next(line)) {
      return false;
    }
    if (CsvTable::MayBeHeader(line) && line != header_) {
      following_ = CsvTable::FromHeader(line);
      header_ = following_ ? std::string(line) : header_;
    }
  } while (line.empty() || line == header_);
  if (row_ == max_rows_) {
    ThrowRead(ErrorCode::kLimit, lines_.offset(), fmt::format("line {}", lines_.number()),
              fmt::format("more than {} rows", max_rows_), "lift it with --max samples=N");
  }
  ++row_;
  good_ = fields_.Split(line);
  return true;
}

bool CsvRows::NextTable() {
  if (!following_) {
    return false;
  }
  table_ = *std::exchange(following_, std::nullopt);
  return true;
}

std::optional<Amount> CsvRows::GetAmount(Column column) {
  const std::string_view text = Get(column);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto amount = ParseAmount(text, table_.Unit(column));
  good_ = good_ && amount;
  return amount;
}

std::optional<std::int64_t> CsvRows::GetTime(Column column) {
  const std::string_view text = Get(column);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto time = ParseMicroseconds(text);
  if (!time && IsRoundedBySpreadsheet(text)) {
    ThrowRead(ErrorCode::kMalformed, lines_.offset(), fmt::format("line {}", lines_.number()),
              fmt::format("the time {} was rounded by a spreadsheet, which saved the file with six "
                          "digits of each time",
                          text),
              "give the file that the profiler wrote");
  }
  good_ = good_ && time;
  return time;
}

void CsvRows::AddDiagnostics(RecordingBuilder& builder) const {
  bad_.MoveTo(builder, "lines that are not rows, or whose times step back: left out");
}

}  // namespace memtool::formats::ascend
