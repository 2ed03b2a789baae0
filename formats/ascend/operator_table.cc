#include "ascend/operator_table.h"

#include <string_view>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::ascend {

namespace {

// What torch_npu puts before the names of CANN's graph engine, whose totals are its own.
constexpr std::string_view kOfGraphEngine = "cann::";

}  // namespace

void OperatorTable::Read(CsvRows& rows) {
  while (rows.Next()) {
    Take(rows);
  }
}

void OperatorTable::Take(CsvRows& rows) {
  const auto size = rows.GetAmount(Column::kSize);
  auto tensor = ToTensor(
      {.size = size ? size->bytes : 0,
       .allocated_at = rows.GetTime(Column::kAllocationTime),
       .released_at = rows.GetTime(Column::kReleaseTime),
       .reusable_at = rows.GetTime(Column::kActiveReleaseTime),
       .duration = rows.GetTime(Column::kDuration),
       .after_allocation =
           GetTotals(rows, Column::kAllocationAllocated, Column::kAllocationReserved),
       .after_release = GetTotals(rows, Column::kReleaseAllocated, Column::kReleaseReserved)});
  if (!rows.good() || !tensor) {
    rows.SkipBad();
    return;
  }
  if (!size) {
    ++without_size_;
    return;
  }
  const std::string_view name = rows.Get(Column::kName);
  tensor->stack = stacks_.Of(name);
  tensor->stream =
      ledgers_.StreamOf(ParseNumber<std::uint64_t>(rows.Get(Column::kStream)).value_or(0));
  const std::string_view component =
      name.starts_with(kOfGraphEngine) ? kGraphEngine : std::string_view();
  if (TensorLedger* ledger =
          ledgers_.Of(ParseDevice(rows.Get(Column::kDevice)).value_or(-1), component)) {
    ledger->Add(rows.row(), *tensor);
  }
}

// A total that its writer has rounded is compared with nothing.
Totals OperatorTable::GetTotals(CsvRows& rows, Column allocated, Column reserved) {
  const auto get = [&](Column column) {
    const auto amount = rows.GetAmount(column);
    rounded_ += amount && amount->rounded ? 1 : 0;
    return amount && !amount->rounded && amount->bytes >= 0 ? amount->bytes : kUnsaid;
  };
  return {.allocated = get(allocated), .reserved = get(reserved)};
}

void OperatorTable::AddDiagnostics(RecordingBuilder& builder) const {
  builder.AddDiagnostic(Severity::kWarning, "unknown_free",
                        "rows without a size: what they released is unknown", without_size_);
  builder.AddDiagnostic(Severity::kNote, "rounded_totals",
                        "totals that are no whole number of bytes: compared with nothing",
                        rounded_);
}

}  // namespace memtool::formats::ascend
