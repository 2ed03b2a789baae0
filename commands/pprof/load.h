// Reads the sources and bases of `memtool pprof` into the one profile that it reports on.
#pragma once

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

// Merged, the base subtracted, uninteresting frames dropped. Errors: those of any input (unlike
// pprof, which continues without a source that it cannot read), and kUsage for sources that do not
// fit together.
Result<Recording> LoadProfile(const Settings& settings);

}  // namespace memtool::commands::pprof
