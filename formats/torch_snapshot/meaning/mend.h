// What events mean that only all of them together tell.
#pragma once

#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::torch_snapshot {

// An annotation is said of what is live at its address: the allocation gets its text as a label,
// "annotation".
void JoinAnnotations(History& history, RecordingBuilder& builder);

// A trace may leave out events by their kind (skip_actions). Where it has requests to free and not
// one completion, the request is the end of a block's life, but for blocks that `state` has as
// still waiting. Returns whether there was such a trace.
bool CountRequestsAsFrees(History& history, const AllocatorState& state);

}  // namespace memtool::formats::torch_snapshot
