// The recording that a changed program would have left behind. Whatever takes a recording takes it.
#pragma once

#include "memtool/profile/advise/edits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool::advise {

// Events are requests of the changed program, at the times of those beside which they stand, and
// what the model of the allocator does for them, without a limit. Marks and annotations stay out.
// Errors: those of Editor::Apply, and kUnsupported when no trace can be replayed.
Result<Recording> RecordedChanged(const HistoryIndex& index, const Edits& edits);

}  // namespace memtool::advise
