// Flat and cumulative values per node. Flat goes to the innermost visible frame; cum is added once
// per node and stack, however often recursion repeats it (pprof's meaning of both).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct NodeValue {
  std::int64_t flat = 0;
  std::int64_t cum = 0;
  std::int64_t unknown = 0;  // allocations of unknown size, flat and cumulative
  std::int64_t unknown_cum = 0;
};

// The visible frames of one (stack, group) as nodes, innermost first.
struct NodeStack {
  std::vector<NodeId> nodes;
  std::vector<std::uint32_t> lines;  // row of Recording::lines per node; none for label frames
  NodeId via;
};

// Walks the kept stacks of one recording as nodes of a shared space.
class NodeWalker {
 public:
  NodeWalker(const View& view, Granularity granularity, NodeSpace& space);
  // False when the filter drops the stack.
  bool Expand(const StackSum& sum, NodeStack& out);
  // The node of each line of the recording.
  [[nodiscard]] const std::vector<NodeId>& of_line() const { return of_line_; }

 private:
  const View& view_;
  std::vector<NodeId> of_line_;
  std::vector<std::vector<NodeId>> roots_;   // per group, innermost first
  std::vector<std::vector<NodeId>> leaves_;  // per group, innermost first
  VisibleStack visible_;
};

// The place shown for a row that stands for several lines: the one with the most bytes.
struct Place {
  SharedText file;
  std::int64_t line = 0;
  std::int64_t more = 0;  // other lines that hold something
};

class FlatCum {
 public:
  explicit FlatCum(NodeSpace& space) : space_(space) {}

  // Adds one recording's sums.
  void Add(const View& view, const StackSums& sums, Granularity granularity);

  [[nodiscard]] NodeValue Value(NodeId node) const {
    return node.value() < values_.size() ? values_[node.value()] : NodeValue{};
  }
  // Of samples that have no stack, or no frame left; part of the total, but of no node.
  [[nodiscard]] const NodeValue& without_stack() const { return without_stack_; }
  // Sum of all flat values: what the rows add up to.
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t unknown() const { return unknown_; }

  // Per node. What the row itself holds decides; one that only passes memory on is placed by what
  // passes.
  [[nodiscard]] std::vector<Place> Places() const;
  // Per node: the heaviest call into a framework below its code, or none.
  [[nodiscard]] std::vector<NodeId> Vias() const;

 private:
  // A line of a node, the same in all inputs.
  using LineKey = std::tuple<NodeId, StringId, std::int64_t>;
  struct LineValue {
    std::int64_t flat = 0;  // Σ|flat|
    std::int64_t cum = 0;
    bool seen = false;
  };
  void Grow();
  void AddStack(const NodeStack& stack, const StackSum& sum);
  void KeepLines(const Recording& recording, std::span<const NodeId> of_line,
                 std::span<const LineValue> values);

  NodeSpace& space_;
  std::vector<NodeValue> values_;
  std::vector<std::uint32_t> last_seen_;  // per node: the last stack that was counted for cum
  std::uint32_t epoch_ = 0;
  KeyMap<LineKey, LineValue> lines_;
  struct Via {
    NodeId node;
    NodeId via;
    std::int64_t weight = 0;  // Σ|flat|
  };
  std::vector<Via> vias_;
  RowMap via_rows_;  // (node, via node) → row of vias_
  NodeValue without_stack_;
  std::int64_t total_ = 0;
  std::int64_t unknown_ = 0;
};

}  // namespace memtool
