// memory_record*.csv, npu_module_mem*.csv and npu_mem*.csv: totals of components over time.
#pragma once

#include <cstdint>
#include <set>

#include "ascend/csv/csv_rows.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/history/component_totals.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledgers.h"

namespace memtool::formats::ascend {

// Joined with other tables, each total counts once: those of allocators with a ledger are in it,
// and the process is told by the first table that has it.
class TotalsTable {
 public:
  TotalsTable(NameStacks& stacks, const TensorLedgers& ledgers, ComponentTotals& totals)
      : stacks_(stacks), ledgers_(ledgers), totals_(totals) {}

  // All rows of one table.
  void Read(CsvRows& rows);
  void AddDiagnostics(RecordingBuilder& builder) const;

 private:
  bool Take(CsvRows& rows);

  NameStacks& stacks_;
  const TensorLedgers& ledgers_;
  ComponentTotals& totals_;
  std::set<std::int32_t> with_process_;  // devices of which an earlier table has the process
  std::set<std::int32_t> with_process_here_;
  std::uint64_t told_elsewhere_ = 0;
};

}  // namespace memtool::formats::ascend
