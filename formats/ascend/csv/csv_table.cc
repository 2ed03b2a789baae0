#include "ascend/csv/csv_table.h"

#include <algorithm>

namespace memtool::formats::ascend {

namespace {

struct Title {
  std::string_view title;  // without its unit
  Column column = Column::kName;
};
// Of all tables and versions; torch_npu, msprof and MindSpore name some differently.
constexpr std::array<Title, 38> kTitles{{
    {"Name", Column::kName},
    {"Op Name", Column::kName},
    {"Size", Column::kSize},
    {"Allocation Time", Column::kAllocationTime},
    {"Release Time", Column::kReleaseTime},
    {"Active Release Time", Column::kActiveReleaseTime},
    {"Duration", Column::kDuration},
    {"Allocation Total Allocated", Column::kAllocationAllocated},
    {"Allocation Total Reserved", Column::kAllocationReserved},
    {"Release Total Allocated", Column::kReleaseAllocated},
    {"Release Total Reserved", Column::kReleaseReserved},
    {"Stream Ptr", Column::kStream},
    {"Device Type", Column::kDevice},
    {"Device", Column::kDevice},
    {"Device_id", Column::kDevice},
    {"Component", Column::kComponent},
    {"event", Column::kComponent},
    {"Timestamp", Column::kTime},
    {"timestamp", Column::kTime},
    {"Total Allocated", Column::kAllocated},
    {"Total Reserved", Column::kReserved},
    {"memory", Column::kReserved},
    {"Model Name", Column::kModel},
    {"Graph ID", Column::kGraph},
    {"Node Index Start", Column::kNodeStart},
    {"Node Index End", Column::kNodeEnd},
    {"start_time_stamp", Column::kBlockStart},
    {"end_time_stamp", Column::kBlockEnd},
    {"device_addr", Column::kAddress},
    {"stream_id", Column::kStream},
    {"pool_type", Column::kPool},
    {"size", Column::kSize},
    {"actual_used_memory", Column::kUsed},
    {"actual_peak_memory", Column::kPeak},
    {"type", Column::kType},
    {"task_name", Column::kTask},
    {"node_name", Column::kName},
    {"python_stack", Column::kPythonStack},
}};

// "KB" is 1024 bytes in all of them.
std::int64_t ParseUnit(std::string_view unit) {
  constexpr std::int64_t kKilo = 1024;
  return unit == "KB" ? kKilo : unit == "MB" ? kKilo * kKilo : 1;
}

}  // namespace

// By the title in front, of the tables that profilers write into one folder.
bool CsvTable::MayBeHeader(std::string_view line) {
  constexpr std::array<std::string_view, 4> kFirst{"Name,", "Component,", "Device", "Op Name,"};
  return std::any_of(kFirst.begin(), kFirst.end(),
                     [line](std::string_view title) { return line.starts_with(title); });
}

void CsvTable::Take(std::string_view title, std::uint8_t at) {
  const std::size_t open = std::min(title.find('('), title.size());
  const std::string_view name = title.substr(0, open);
  const auto* known = std::find_if(kTitles.begin(), kTitles.end(),
                                   [name](const Title& each) { return each.title == name; });
  if (known == kTitles.end()) {
    return;
  }
  std::string_view unit = title.substr(open);
  unit = unit.substr(unit.starts_with('(') ? 1 : 0);
  const auto index = static_cast<std::size_t>(known->column);
  at_[index] = at;
  units_[index] = ParseUnit(unit.substr(0, unit.find(')')));
}

std::optional<CsvTable> CsvTable::FromHeader(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kMaxTitle = 4096;  // of a whole header; other files have longer first lines
  if (line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.size() > kMaxTitle) {
    return std::nullopt;
  }
  CsvFields fields(CsvPadding::kBlanks);
  if (!fields.Split(line)) {
    return std::nullopt;
  }
  CsvTable table;
  table.at_.fill(kNone);
  table.units_.fill(1);
  for (std::size_t i = 0; i < std::min<std::size_t>(fields.size(), kNone); ++i) {
    table.Take(fields[i], static_cast<std::uint8_t>(i));
  }
  const auto has = [&table](std::initializer_list<Column> columns) {
    return std::all_of(columns.begin(), columns.end(),
                       [&table](Column column) { return table.Has(column); });
  };
  if (has({Column::kName, Column::kSize, Column::kAllocationTime})) {
    table.table_ = Table::kOperators;
  } else if (has({Column::kComponent, Column::kTime, Column::kReserved, Column::kDevice})) {
    table.table_ = Table::kTotals;
  } else if (has({Column::kName, Column::kSize, Column::kNodeStart, Column::kNodeEnd})) {
    table.table_ = Table::kStaticOps;
  } else if (has({Column::kBlockStart, Column::kBlockEnd, Column::kAddress, Column::kSize})) {
    table.table_ = Table::kBlocks;
  } else {
    return std::nullopt;
  }
  return table;
}

}  // namespace memtool::formats::ascend
