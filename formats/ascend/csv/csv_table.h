// Which of Ascend's tables a CSV file is, by the titles of its columns: their order and number
// differ between versions, and so do the units behind them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "support/text/csv_fields.h"

namespace memtool::formats::ascend {

enum class Table : std::uint8_t {
  kOperators,  // operator_memory*.csv: a tensor per row, with its allocation and its release
  kTotals,     // memory_record*.csv, npu_module_mem*.csv, npu_mem*.csv: totals of components
  kStaticOps,  // static_op_mem*.csv: what the operators of static graphs take
  kBlocks,     // memory_block.csv: what MindSpore's allocator handed out
};

enum class Column : std::uint8_t {
  kName,
  kSize,
  kAllocationTime,
  kReleaseTime,
  kActiveReleaseTime,
  kDuration,
  kAllocationAllocated,
  kAllocationReserved,
  kReleaseAllocated,
  kReleaseReserved,
  kStream,
  kDevice,
  kComponent,
  kTime,
  kAllocated,
  kReserved,
  kModel,
  kGraph,
  kNodeStart,
  kNodeEnd,
  kBlockStart,
  kBlockEnd,
  kAddress,
  kPool,
  kUsed,
  kPeak,
  kType,
  kTask,
  kPythonStack,
};
inline constexpr std::size_t kColumns = static_cast<std::size_t>(Column::kPythonStack) + 1;

class CsvTable {
 public:
  // None where `line` is no header of such a table.
  static std::optional<CsvTable> FromHeader(std::string_view line);

  // Whether FromHeader need not be asked: a line of numbers and operators is none, and most are.
  static bool MayBeHeader(std::string_view line);

  [[nodiscard]] Table table() const { return table_; }
  [[nodiscard]] bool Has(Column column) const { return At(column) != kNone; }
  // Empty where the table has no such column or the row ends before it.
  [[nodiscard]] std::string_view Get(const CsvFields& fields, Column column) const {
    return Has(column) ? fields[At(column)] : std::string_view();
  }
  // Bytes in one of what the title says, "KB" or "MB"; 1 where it says nothing.
  [[nodiscard]] std::int64_t Unit(Column column) const {
    return units_[static_cast<std::size_t>(column)];
  }

 private:
  static constexpr std::uint8_t kNone = UINT8_MAX;
  [[nodiscard]] std::uint8_t At(Column column) const {
    return at_[static_cast<std::size_t>(column)];
  }
  void Take(std::string_view title, std::uint8_t at);

  Table table_ = Table::kOperators;
  std::array<std::uint8_t, kColumns> at_{};
  std::array<std::int64_t, kColumns> units_{};
};

}  // namespace memtool::formats::ascend
