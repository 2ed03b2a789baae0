#include "ascend/totals_table.h"

#include <string_view>

namespace memtool::formats::ascend {

void TotalsTable::Read(CsvRows& rows) {
  while (rows.Next()) {
    if (!Take(rows)) {
      rows.SkipBad();
    }
  }
  with_process_.merge(with_process_here_);
}

// False where the row is none.
bool TotalsTable::Take(CsvRows& rows) {
  const std::string_view component = rows.Get(Column::kComponent);
  const auto time = rows.GetTime(Column::kTime);
  const auto allocated = rows.GetAmount(Column::kAllocated);
  const auto reserved = rows.GetAmount(Column::kReserved);
  const auto& live = allocated ? allocated : reserved;
  if (!rows.good() || component.empty() || !time || !live) {
    return false;
  }
  const std::int32_t device = ParseDevice(rows.Get(Column::kDevice)).value_or(-1);
  const bool process = component == kProcess;
  if (ledgers_.Tell(device, component) || (process && with_process_.contains(device))) {
    ++told_elsewhere_;
    return true;
  }
  if (process) {
    with_process_here_.insert(device);
  }
  Sample sample{.component = component,
                .stack = component == kPrintedSum ? StackId() : stacks_.Of(component),
                .time = *time,
                .live = live->bytes,
                .rounded = live->rounded};
  if (allocated && reserved) {
    sample.reserved = reserved->bytes;
  } else if (!ledgers_.empty()) {
    sample.reserved = live->bytes;  // beside components that have both
  }
  return totals_.Add(device, sample);
}

void TotalsTable::AddDiagnostics(RecordingBuilder& builder) const {
  builder.AddDiagnostic(Severity::kNote, "told_elsewhere",
                        "rows of what another table tells in more detail: read from there",
                        told_elsewhere_);
}

}  // namespace memtool::formats::ascend
