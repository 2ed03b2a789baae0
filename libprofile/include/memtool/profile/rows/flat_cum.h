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
  VisibleStack visible;  // before it was made of nodes
};

// Walks the kept stacks of one recording as nodes of a shared space.
class NodeWalker {
 public:
  NodeWalker(const View& view, Granularity granularity, NodeSpace& space);
  // False when the filter drops the stack. `out` is reused between calls.
  bool Expand(const StackSum& sum, NodeStack& out) const;
  // The node of each line of the recording.
  [[nodiscard]] const std::vector<NodeId>& of_line() const { return of_line_; }

 private:
  const View& view_;
  std::vector<NodeId> of_line_;
  std::vector<std::vector<NodeId>> roots_;   // per group, innermost first
  std::vector<std::vector<NodeId>> leaves_;  // per group, innermost first
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

  // Adds one recording's sums, on several threads where there are many.
  void Add(const View& view, const StackSums& sums, Granularity granularity);

  [[nodiscard]] NodeValue Value(NodeId node) const {
    return node.value() < sums_.values.size() ? sums_.values[node.value()] : NodeValue{};
  }
  // Of samples that have no stack, or no frame left; part of the total, but of no node.
  [[nodiscard]] const NodeValue& without_stack() const { return sums_.without_stack; }
  // Sum of all flat values: what the rows add up to.
  [[nodiscard]] std::int64_t total() const { return sums_.total; }
  [[nodiscard]] std::int64_t unknown() const { return sums_.unknown; }

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
  struct Via {
    NodeId node;
    NodeId via;
    std::int64_t weight = 0;  // Σ|flat|
  };
  // What stacks add up to.
  struct Sums {
    std::vector<NodeValue> values;         // per node
    std::vector<std::uint32_t> last_seen;  // per node: the last stack that was counted for cum
    std::uint32_t epoch = 0;
    std::vector<Via> vias;
    RowMap via_rows;  // (node, via node) → row of vias
    NodeValue without_stack;
    std::int64_t total = 0;
    std::int64_t unknown = 0;

    void Resize(std::size_t nodes);
    void Add(const NodeStack& stack, const StackSum& sum);
    void AddVia(const Via& via);
    void Add(const Sums& other);
  };

  static void Walk(const NodeWalker& walker, std::span<const StackSum> rows, Sums& sums,
                   std::vector<LineValue>& of_line);
  void KeepLines(const Recording& recording, std::span<const NodeId> of_line,
                 std::span<const LineValue> values);

  NodeSpace& space_;
  Sums sums_;
  KeyMap<LineKey, LineValue> lines_;
};

}  // namespace memtool
