// What rows of functions are made of: lines, each on the devices where it holds something. A row is
// judged as one where its parts do alike. Else lines or devices are rows of their own: what a line
// keeps at every step is not seen in a sum with what another one allocates once or frees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/growth/growth.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/rows/node_space.h"

namespace memtool {

struct RowPart {
  GrowthRow row;  // a line on a device; not judged
  // Of a history: bytes that were allocated in each step and never freed.
  std::vector<std::int64_t> kept;
  std::uint32_t group = 0;  // parts of one row have the same
  std::uint32_t device = 0;
};

// Point by point.
void AddTo(std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& values);

// Per line of a recording, as a node, the row that it is a part of.
KeyMap<NodeId, NodeId> RowsOfLines(const Recording& recording, Granularity granularity,
                                   NodeSpace& space);

// Rows in the order in which their first parts come. Their place is the line that grew most, or
// fell most in a row that falls. `devices`: their names; where there are several, a row that only
// one of them moves says which.
std::vector<GrowthRow> JoinParts(const std::vector<RowPart>& parts,
                                 std::span<const SharedText> devices);

}  // namespace memtool
