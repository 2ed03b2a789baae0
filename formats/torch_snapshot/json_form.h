// Snapshots as JSON: what Kineto's and MTIA's writers, and conversions by hand, leave.
#pragma once

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "torch_snapshot/snapshot_builder.h"

namespace memtool::formats::torch_snapshot {

// Reads one JSON value; the window stands behind it afterwards. Throws ReadError.
Value ReadJson(ByteWindow& in, SnapshotBuilder& builder, const Limits& limits);

}  // namespace memtool::formats::torch_snapshot
