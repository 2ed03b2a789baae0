// Segments and blocks of a snapshot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "torch_snapshot/context.h"

namespace memtool::formats::torch_snapshot {

class StateTable {
 public:
  explicit StateTable(Context& context) : context_(context) {}

  Value AddSegment(std::span<const Value> pairs, std::uint64_t offset);
  Value AddBlock(std::span<const Value> pairs, std::uint64_t offset);
  Value AddHistory(std::span<const Value> pairs, std::uint64_t offset);

  // Gives `builder` the segments that the snapshot's own lists name, in the model's order. Throws
  // ReadError when a segment or a block is counted twice; all else the builder checks.
  struct Run {
    std::uint32_t first;
    std::uint32_t count;
    bool host;
  };
  void Finish(std::span<const Run> runs, RecordingBuilder& builder);

 private:
  struct SegmentRow {
    Segment segment;
    std::uint64_t offset = 0;
  };
  struct BlockRow {
    Block block;
    bool has_address = false;
  };
  struct HistoryRow {
    std::int64_t real_size = 0;
    StackId stack;
  };

  void SetSegment(Segment& segment, const Value& key, const Value& value, std::uint64_t offset);
  void PlaceBlocks(const Segment& segment, AllocatorState& state) const;

  Context& context_;
  std::vector<SegmentRow> segments_;
  std::vector<BlockRow> blocks_;
  std::vector<HistoryRow> histories_;
};

}  // namespace memtool::formats::torch_snapshot
