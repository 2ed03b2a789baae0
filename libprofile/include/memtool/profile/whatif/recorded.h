// The recording that the allocator would have left behind under other settings: the same requests
// at the same times; segments, addresses and the state at the end are the model's. Whatever takes a
// recording takes it.
#pragma once

#include <functional>
#include <string>

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

// The same for whoever has another model of what happened.
// `write` appends the events of a trace (and labels, where the recording has any) and gives the
// state at their end. Traces that cannot be replayed stay as they are. `note`: a diagnostic
// ("whatif") that says so. Errors: those of `write`; kUnsupported when no trace can be replayed.
Result<Recording> Rebuilt(
    const HistoryIndex& index, const std::string& note,
    const std::function<Result<AllocatorState>(const Trace& trace, History& history)>& write);

}  // namespace memtool::whatif
