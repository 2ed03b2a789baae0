// Lines about the moment at which a recording is looked at.
#pragma once

#include <string>
#include <vector>

#include "memtool/profile/model/history.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/select/selection.h"

namespace memtool::commands {

// "device 0: peak 22.55 GiB at event 3,737 of 22,331 · end 6.40 GiB · reserved 23.45 GiB · no OOM
// recorded".
std::string TraceLine(const Recording& recording, const Trace& trace, const TraceSummary& summary);
// "device 0: at the peak, event 3,737 of 22,331: 22.55 GiB · end 6.40 GiB · reserved 23.45 GiB · no
// OOM recorded", one line per trace; nothing for inputs without a history.
std::vector<std::string> MomentLines(const Selection& loaded);

}  // namespace memtool::commands
