// Which releases of a trace the program asked for, and which the driver's refusal caused.
#pragma once

#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

std::vector<ReleaseRun> FindReleaseRuns(const HistoryIndex& index, const Trace& trace);

}  // namespace memtool::whatif
