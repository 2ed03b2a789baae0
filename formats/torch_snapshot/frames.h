// Frames and stacks of a snapshot. A frame dict becomes a location (one per distinct name, file and
// line); a list of frames becomes a stack (one per distinct run of locations).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

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
  struct Key {
    std::uint32_t first;
    std::uint64_t second;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (key.second ^ (std::uint64_t{key.first} << 40U)) * 0x9e3779b97f4a7c15ULL;
    }
  };

  Context& context_;
  std::unordered_map<Key, FunctionId, Hash> functions_;  // name, filename
  std::unordered_map<Key, LocationId, Hash> locations_;  // function, line
  ByteInterner stacks_;  // runs of location ids; its ids are those of the stacks
  std::vector<std::uint32_t> run_;
  std::vector<LocationId> ids_;
  std::uint64_t regrown_ = 0;
};

}  // namespace memtool::formats::torch_snapshot
