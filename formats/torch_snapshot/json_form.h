// Snapshots as JSON, as Kineto's and MTIA's writers, and conversions by hand, write them.
#pragma once

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "torch_snapshot/snapshot_builder.h"

namespace memtool::formats::torch_snapshot {

// Reads one JSON value; afterwards the window is right after it. Throws ReadError.
Value ReadJson(ByteWindow& in, SnapshotBuilder& builder, const Limits& limits);

}  // namespace memtool::formats::torch_snapshot
