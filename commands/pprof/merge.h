// Loading as pprof loads: sources are merged and bases taken away before anything is reported.
#pragma once

#include <span>
#include <vector>

#include "pprof/profile.h"

namespace memtool::commands::pprof {

// Units become the finest of each sample type, then equal mappings, functions, locations and
// samples become one and samples of zeros vanish. Also what a single source goes through. Errors:
// kUsage when sample types differ (Debian's pprof wants the same ones, in the same order).
Result<MutableProfile> Combine(std::vector<MutableProfile> profiles);

// Multiplies values, with one factor per sample type, and drops the samples of zeros that arise.
void ScaleValues(MutableProfile& profile, std::span<const double> factors);

// Scales `profile` so that its sums are those of `base`. Errors: kUsage when types differ.
Result<void> Normalize(MutableProfile& profile, const MutableProfile& base);

// Gives every sample the text label key=value.
void SetLabel(MutableProfile& profile, std::string_view key, std::string_view value);

// Applies the file's own wish which frames to drop. A bad expression is ignored, as pprof does.
void DropUninteresting(MutableProfile& profile);

}  // namespace memtool::commands::pprof
