// memory_block.csv, which MindSpore's memory tracker writes (MS_ALLOC_CONF=memory_tracker:True): a
// row per block that its allocator handed out. Stamps count allocations, releases and tasks, and
// stand in for time.
// Source: MindSpore, backend/common/mem_reuse/mem_tracker.cc.
#pragma once

#include "ascend/csv/csv_rows.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::ascend {

void ReadBlocks(CsvRows& rows, const Limits& limits, RecordingBuilder& builder);

}  // namespace memtool::formats::ascend
