#include "rocpd/tables.h"

#include <algorithm>
#include <string_view>

#include "rocpd/part_reader.h"

namespace memtool::formats::rocpd {

namespace {

constexpr std::string_view kHint =
    "rocprofv3 --memory-allocation-trace --hip-trace --marker-trace --output-format rocpd -- "
    "PROGRAM";

template <class Row, class Key>
void SortBy(Row& rows, Key key) {
  const auto before = [&key](const auto& a, const auto& b) { return key(a) < key(b); };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
}

}  // namespace

Result<Tables> ReadTables(sqlite::DatabaseFile& file, RecordingBuilder& builder,
                          const Limits& limits) {
  const auto suffixes = file.SuffixesOf("rocpd_memory_allocate");
  MEMTOOL_TRY(suffixes);
  if (suffixes->empty()) {
    return Fail(ErrorCode::kUnsupported,
                "this is a SQLite database without the tables of rocpd that are about memory",
                std::string(kHint));
  }
  Tables out;
  std::vector<PartReader> parts;
  for (const std::string& suffix : *suffixes) {
    parts.emplace_back(file, suffix, static_cast<std::uint32_t>(parts.size()), out);
    MEMTOOL_TRY(parts.back().ReadMemory(builder, limits));
  }
  if (out.memory.empty() && out.damaged_rows > 0) {
    return Fail(ErrorCode::kMalformed,
                "none of its rows of memory has a type, a level, an address and times");
  }
  if (out.memory.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "this database of rocprofv3 holds no allocations: they were not recorded",
                std::string(kHint));
  }
  SortBy(out.memory, [](const MemoryRow& row) { return row.time; });
  const ThreadTimes times(out);
  for (PartReader& part : parts) {
    MEMTOOL_TRY(part.ReadAround(times));
  }
  SortBy(out.ranges, [](const Range& range) { return range.begin; });
  return out;
}

}  // namespace memtool::formats::rocpd
