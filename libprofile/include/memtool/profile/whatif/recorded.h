// The recording that the allocator would have left behind under other settings: the same requests
// at the same times; segments, addresses and the state at the end are the model's. Whatever takes a
// recording takes it.
#pragma once

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"

namespace memtool::whatif {

// Under the recording's own settings it is the recording. Under others the process may get what the
// recording shows that it could get (limit.h), without limit where it shows none. An allocation
// that fails is an out-of-memory event, and the rest goes on without it. Traces that cannot be
// replayed stay as they are; a diagnostic ("whatif") says under which settings the others are.
// Errors: kUnsupported when none can be replayed, with the obstacle's name.
Result<Recording> RecordedUnder(const HistoryIndex& index, const AllocatorSettings& settings);

}  // namespace memtool::whatif
