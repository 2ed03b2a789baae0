// static_op_mem*.csv: what each operator of a static graph takes, and from which node of the graph
// to which. The nodes stand in for time.
#pragma once

#include "ascend/csv/csv_rows.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::ascend {

void ReadStaticOps(CsvRows& rows, const Limits& limits, RecordingBuilder& builder);

}  // namespace memtool::formats::ascend
