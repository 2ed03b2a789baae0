// The edits that pprof's filter options make to a profile, in pprof's order: label frames, names,
// show_from, labels, prune_from; at last the granularity.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pprof/profile.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

// Sends one warning to the user.
using WarnUser = std::function<void(std::string_view)>;

// Units of numeric labels by key: the first one met, else implied by the key.
using LabelUnits = std::map<std::string, std::string, std::less<>>;
LabelUnits FindLabelUnits(const MutableProfile& profile, const WarnUser& warn);

// What a report never sees: text labels without text, numbers 0 without a unit.
void DropEmptyLabels(MutableProfile& profile);

// tagroot and tagleaf: frames that stand for label values.
void AddLabelFrames(MutableProfile& profile, const Settings& settings, const WarnUser& warn);

// focus, ignore, hide, show, show_from, tagfocus, tagignore, tagshow, taghide, prune_from. Errors:
// kUsage for a bad expression. Warns about options that matched nothing.
Result<void> ApplyFilters(MutableProfile& profile, const Settings& settings,
                          const LabelUnits& units, const WarnUser& warn);

// Applies the file's own wish which frames to drop. A bad expression is ignored, as pprof does.
void DropUninteresting(MutableProfile& profile);

// Removes what the granularity does not tell apart: names, files, lines, addresses, inlining.
void Aggregate(MutableProfile& profile, const Settings& settings);

// A predicate on label sets. Errors: kUsage for a bad expression.
using LabelMatch = std::function<bool(const LabelSet&)>;
Result<LabelMatch> CompileTagFilter(const MutableProfile& profile, std::string_view option,
                                    const std::string& text, const LabelUnits& units,
                                    const WarnUser& warn);

}  // namespace memtool::commands::pprof
