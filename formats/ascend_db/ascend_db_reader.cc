#include "ascend_db/ascend_db_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ascend_db/tables_reader.h"
#include "memtool/profile/model/recording_builder.h"
#include "sqlite/database_file.h"
#include "support/byte_cursor.h"

namespace memtool::formats {

Match AscendDbReader::Sniff(std::span<const std::byte> head) const {
  // Of tables that no other producer has; one of them is among the first that are made.
  constexpr std::array<std::string_view, 6> kTables{"NPU_INFO",   "NPU_MEM",  "NPU_MODULE_MEM",
                                                    "NPU_OP_MEM", "CANN_API", "RANK_DEVICE_MAP"};
  const std::string_view text = AsText(head);
  return sqlite::IsDatabase(head) &&
                 std::any_of(kTables.begin(), kTables.end(),
                             [text](std::string_view table) {
                               return text.find(table) != std::string_view::npos;
                             })
             ? Match::kCertain
             : Match::kNo;
}

Result<Recording> AscendDbReader::Read(ByteWindow& in, const Limits& limits) const {
  auto file = sqlite::DatabaseFile::Open(in, limits);
  MEMTOOL_TRY(file);
  RecordingBuilder builder;
  builder.Intern({});
  MEMTOOL_TRY(ascend_db::TablesReader(*file, limits, builder).Read());
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
