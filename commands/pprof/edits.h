// What pprof's options change in a profile before it is reported on, in pprof's order: label
// frames, then the filters. The filters are libprofile's.
#pragma once

#include <functional>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"
#include "pprof/measure.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

// Sends one warning to the user.
using WarnUser = std::function<void(std::string_view)>;

// The first unit found of each key, else implied by the key.
LabelUnits FindLabelUnits(const Recording& recording, const WarnUser& warn);

// For FilterRules::read_range: a tag filter in units of one family; null for a regular expression.
// Numbers are in the unit of their key. `units` outlives the result.
NumberTest ReadTagRange(std::string_view text, const LabelUnits& units);

// What a report never sees: text labels without text, numbers 0 without a unit.
Result<Recording> DropEmptyLabels(Recording recording);

// Drops the frames that the file itself asks to drop. A bad expression is ignored, as in pprof.
Result<Recording> DropUninteresting(Recording recording);

// tagroot and tagleaf: frames that stand for label values. Real locations, unlike libprofile's
// label frames, because pprof's filters match them and its -raw and -proto list them.
Result<Recording> AddLabelFrames(Recording recording, const Settings& settings,
                                 const WarnUser& warn);

// focus, ignore, hide, show, show_from, tagfocus, tagignore, tagshow, taghide, prune_from. Errors:
// kUsage for a bad expression. Warns about options that matched nothing.
Result<Recording> ApplyFilters(Recording recording, const Settings& settings,
                               const LabelUnits& units, const WarnUser& warn);

}  // namespace memtool::commands::pprof
