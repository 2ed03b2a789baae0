// Groups of a history's allocations, for analyses that go through its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// A group number per event's stack, label set or stream; one of the three lists is filled.
struct AllocationGroups {
  struct Name {
    SharedText name;
    SharedText file;        // empty where a group has no place
    std::int64_t line = 0;  // 0 where name and file say it all
    NodeId node{};          // of groups of frames
    StackId stack{};        // of groups of stacks: the first of it
  };
  std::vector<Name> names;               // per group; allocations in no group are the rest
  std::vector<std::uint32_t> of_stack;   // StackId → group
  std::vector<std::uint32_t> of_label;   // LabelSetId of the event → group
  std::vector<std::uint32_t> of_stream;  // row of History::streams → group
  static constexpr std::uint32_t kRest = UINT32_MAX;
};

// Groups by frames or stacks as `view` shows them, by the buckets of By::keywords, or by the values
// of a label of the events; "stream" counts as one. Errors: kUsage for anything else.
Result<AllocationGroups> GroupAllocations(const View& view, const By& by);
// The same with the nodes of a space that others share.
Result<AllocationGroups> GroupAllocations(const View& view, const By& by, NodeSpace& space);

}  // namespace memtool
