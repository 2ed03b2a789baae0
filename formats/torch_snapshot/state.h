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

  // The segments that the snapshot's own lists name, in the model's order. Checks that no segment
  // or block is counted twice and that blocks lie in their segments, whose sums are theirs. Throws
  // ReadError (kMalformed) when the file contradicts itself.
  struct Run {
    std::uint32_t first;
    std::uint32_t count;
    bool host;
  };
  AllocatorState Finish(std::span<const Run> runs);

 private:
  struct SegmentRow {
    Segment segment;
    std::uint64_t offset = 0;
    std::uint64_t keys = 0;  // those it has
  };
  struct Listed;
  struct BlockRow {
    Block block;
    bool has_address = false;
  };
  struct HistoryRow {
    std::int64_t real_size = 0;
    StackId stack;
  };

  void SetSegment(Segment& segment, const Value& key, const Value& value, std::uint64_t offset);
  [[noreturn]] static void Refuse(const SegmentRow& row, std::string_view what);
  Listed PlaceBlocks(const SegmentRow& row, AllocatorState& state) const;
  void CheckSums(const SegmentRow& row, const Listed& listed, Segment& segment);
  static void CheckOverlap(const SegmentRow& row, const Segment& segment,
                           const AllocatorState& state);

  Context& context_;
  std::vector<SegmentRow> segments_;
  std::vector<BlockRow> blocks_;
  std::vector<HistoryRow> histories_;
};

}  // namespace memtool::formats::torch_snapshot
