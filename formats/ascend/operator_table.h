// operator_memory*.csv: a row per tensor, with the times at which it was allocated and released and
// the allocator's totals at both.
#pragma once

#include <cstdint>

#include "ascend/csv/csv_rows.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledgers.h"

namespace memtool::formats::ascend {

class OperatorTable {
 public:
  OperatorTable(NameStacks& stacks, TensorLedgers& ledgers) : stacks_(stacks), ledgers_(ledgers) {}

  // All rows of one table.
  void Read(CsvRows& rows);
  void AddDiagnostics(RecordingBuilder& builder) const;

 private:
  void Take(CsvRows& rows);
  Totals GetTotals(CsvRows& rows, Column allocated, Column reserved);

  NameStacks& stacks_;
  TensorLedgers& ledgers_;
  std::uint64_t without_size_ = 0;
  std::uint64_t rounded_ = 0;
};

}  // namespace memtool::formats::ascend
