// Frames and stacks of a snapshot. A frame dict becomes a location (one per distinct name, file and
// line); a list of frames becomes a stack (one per distinct run of locations).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "support/byte_interner.h"
#include "torch_snapshot/context.h"

namespace memtool::formats::torch_snapshot {

class FrameTable {
 public:
  explicit FrameTable(Context& context) : context_(context) {}

  Value Frame(std::span<const Value> pairs, std::uint64_t offset);
  // `base`: the list so far, empty or a stack; `frames` are all frames.
  Value Stack(const Value& base, std::span<const Value> frames, std::uint64_t offset);

 private:
  Context& context_;
  KeyMap<std::pair<StringId, StringId>, FunctionId> functions_;        // name, filename
  KeyMap<std::pair<FunctionId, std::int64_t>, LocationId> locations_;  // function, line
  ByteInterner stacks_;  // runs of location ids; its ids are those of the stacks
  std::vector<std::uint32_t> run_;
  std::vector<LocationId> ids_;
  std::uint64_t regrown_ = 0;
};

}  // namespace memtool::formats::torch_snapshot
