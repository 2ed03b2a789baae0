// Loading as pprof loads: sources are merged and bases subtracted before anything is reported. The
// merge itself is libprofile's; here are the edits that pprof makes to what goes into it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::commands::pprof {

// Units become the finest of each sample type, then equal mappings, functions, locations and
// samples become one, and samples that are all zero vanish. A single source goes through this too.
// All recordings hold samples. Errors: kUsage when sample types differ (Debian's pprof wants the
// same ones, in the same order).
Result<Recording> Combine(std::vector<Recording> recordings);

// Multiplies values, with one factor per sample type, and drops samples that become zero.
Result<Recording> ScaleValues(Recording recording, std::span<const double> factors);

// Scales `recording` so that its sums are those of `base`. Errors: kUsage when types differ.
Result<Recording> Normalize(Recording recording, const Recording& base);

// Gives every sample the text label key=value.
Result<Recording> SetLabel(Recording recording, std::string_view key, std::string_view value);

}  // namespace memtool::commands::pprof
