#include "ascend/run_tables.h"

#include <cstddef>
#include <utility>

#include "ascend/operator_table.h"
#include "ascend/totals_table.h"
#include "support/history/component_totals.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledgers.h"
#include "support/read_error.h"

namespace memtool::formats::ascend {

namespace {

void AddBlindSpots(bool has_tensors, bool has_modules, RecordingBuilder& builder) {
  if (!has_tensors) {
    builder.AddBlindSpot("single allocations", "the table holds totals of components");
    builder.AddBlindSpot("the code that allocated", "the table names components");
    return;
  }
  builder.AddBlindSpot("the code that allocated",
                       "rows name operators; Python stacks are in a snapshot "
                       "(torch_npu.npu.memory._dump_snapshot)");
  if (!has_modules) {
    builder.AddBlindSpot("what CANN and HCCL take from the device",
                         "beside the allocator: npu_module_mem.csv of the same run has it");
  }
}

}  // namespace

void ReadRun(CsvRows& rows, const Limits& limits, RecordingBuilder& builder) {
  NameStacks stacks(builder, limits);
  TensorLedgers ledgers;
  ComponentTotals totals;
  OperatorTable operators(stacks, ledgers);
  TotalsTable components(stacks, ledgers, totals);
  std::size_t tables = 0;
  bool has_tensors = false;
  bool has_totals = false;
  bool has_modules = false;
  do {
    const CsvTable table = rows.table();
    ++tables;
    if (table.table() == Table::kTotals) {
      has_totals = true;
      has_modules = has_modules || !table.Has(Column::kAllocated);
      components.Read(rows);
    } else if (table.table() == Table::kOperators && !has_totals) {
      has_tensors = true;
      operators.Read(rows);
    } else {
      ThrowRead(ErrorCode::kMalformed, 0, {}, "a table that cannot be joined with those before it",
                "operator_memory.csv comes before tables of totals; static graphs and MindSpore's "
                "blocks, which have no time, are inputs of their own");
    }
  } while (rows.NextTable());
  History history;
  history.clock = Clock::kUnix;
  totals.MoveTo(history, ledgers.MoveTo(history));
  rows.AddDiagnostics(builder);
  operators.AddDiagnostics(builder);
  ledgers.AddDiagnostics(builder);
  components.AddDiagnostics(builder);
  totals.AddDiagnostics(builder);
  if (tables > 1) {
    builder.metadata().format_display = "tables of memory on an Ascend NPU";
  }
  builder.SetHistory(std::move(history));
  AddBlindSpots(has_tensors, has_modules, builder);
}

}  // namespace memtool::formats::ascend
