// Writers as oracles: what is written and read again must say what was said before.
#pragma once

#include "memtool/profile/model/recording.h"

namespace memtool::fuzz {

// As a pprof profile; `recording` holds samples.
void RequireProfileReturns(const Recording& recording);
// As a PyTorch snapshot, where the recording can be one.
void RequireSnapshotReturns(const Recording& recording);
// In memtool's own container, of which the bytes are the same when it is written again.
void RequireContainerReturns(const Recording& recording);
// The dump as JSON is JSON, and its values sum to those of the samples.
void RequireDumpSums(const Recording& recording);
// Folded stacks: every line ends in a number, and their sum is that of the selected samples.
void RequireFoldedSums(const Recording& recording);

}  // namespace memtool::fuzz
