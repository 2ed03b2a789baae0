// Fixes up events whose meaning is known only once all events have been read.
#pragma once

#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::torch_snapshot {

// An annotation is about what is live at its address: the allocation gets its text as a label,
// "annotation".
void JoinAnnotations(History& history, RecordingBuilder& builder);

// A trace may leave out events by their kind (skip_actions). Where it has requests to free but no
// completion at all, the request ends a block's life, except for blocks that are still pending in
// `state`. Returns whether there was such a trace.
bool CountRequestsAsFrees(History& history, const AllocatorState& state);

}  // namespace memtool::formats::torch_snapshot
