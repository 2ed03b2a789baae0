// Reads the sources and bases of `memtool pprof` into the one profile that it reports on.
#pragma once

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

// Merged, the base taken away, uninteresting frames dropped. Errors: of any input (unlike pprof,
// which goes on without a source that it cannot read), and kUsage for sources that do not fit.
Result<Recording> LoadProfile(const Settings& settings);

}  // namespace memtool::commands::pprof
