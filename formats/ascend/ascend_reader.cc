#include "ascend/ascend_reader.h"

#include <utility>

#include "ascend/block_table.h"
#include "ascend/csv/csv_rows.h"
#include "ascend/csv/csv_table.h"
#include "ascend/run_tables.h"
#include "ascend/static_ops.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"

namespace memtool::formats {

namespace {

using ascend::Column;
using ascend::CsvTable;
using ascend::Table;

struct Kind {
  std::string_view display;
  Framework framework = Framework::kPyTorch;
  RecordingKind kind = RecordingKind::kTrace;
};

// Totals of which nothing is said to be allocated are those of modules below the framework.
Kind KindOf(const CsvTable& table) {
  switch (table.table()) {
    case Table::kOperators:
      return {"table of operators' memory on an Ascend NPU"};
    case Table::kStaticOps:
      return {"table of static graphs' memory on an Ascend NPU"};
    case Table::kBlocks:
      return {"table of blocks of MindSpore's allocator", Framework::kUnknown};
    case Table::kTotals:
      break;
  }
  constexpr std::string_view kTotals = "table of memory totals on an Ascend NPU";
  return table.Has(Column::kAllocated)
             ? Kind{kTotals}
             : Kind{kTotals, Framework::kDriver, RecordingKind::kDriverLog};
}

}  // namespace

Match AscendReader::Sniff(std::span<const std::byte> head) const {
  std::string_view line = AsText(head);
  line = line.substr(0, line.find_first_of("\r\n"));
  return CsvTable::FromHeader(line) ? Match::kCertain : Match::kNo;
}

Result<Recording> AscendReader::Read(ByteWindow& in, const Limits& limits) const {
  RecordingBuilder builder;
  builder.Intern({});
  ascend::CsvRows rows(in, limits);
  const Kind kind = KindOf(rows.table());
  builder.metadata().format = name();
  builder.metadata().format_display = kind.display;
  builder.metadata().origin = {.framework = kind.framework, .kind = kind.kind, .platform = "NPU"};
  builder.metadata().frames_are_scopes = true;
  switch (rows.table().table()) {
    case Table::kOperators:
    case Table::kTotals:
      ascend::ReadRun(rows, limits, builder);
      break;
    case Table::kStaticOps:
      ascend::ReadStaticOps(rows, limits, builder);
      break;
    case Table::kBlocks:
      ascend::ReadBlocks(rows, limits, builder);
      break;
  }
  if (rows.NextTable()) {
    return Fail(ErrorCode::kMalformed, "another table follows one that has no time",
                "give them one by one");
  }
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
