// Tables of one run, joined: tensors by operator, and totals of what the process took beside them.
#pragma once

#include "ascend/csv/csv_rows.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::ascend {

// Throws ReadError where a table follows that cannot be joined with those before it.
void ReadRun(CsvRows& rows, const Limits& limits, RecordingBuilder& builder);

}  // namespace memtool::formats::ascend
