// Who calls whom, and with how much: flat and cum per node, edges with what flows through them. All
// graphs are built here; which nodes are worth showing is for their users to say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/rows/node_space.h"

namespace memtool {

// What programs compute differently; the defaults are memtool's.
struct GraphRules {
  // Sums wrap around, and scores out of range become the lowest int64; else they stick at the ends.
  bool wrap = false;
  // Of the ways that one stack takes over an edge the outermost says whether it is residual and
  // inlined; else all do.
  bool outermost_way = false;
  // Negative flow counts towards the score as if it were positive; else not at all.
  bool backward_flow = false;
};

// A sum with its divisor (of a mean; 0 without).
struct Weight {
  std::int64_t value = 0;
  std::int64_t divisor = 0;
};

struct CallNode {
  Weight flat;  // of stacks that end here
  Weight cum;   // once per stack
  // Rows of edges, in the order in which stacks brought them.
  std::vector<std::uint32_t> in;
  std::vector<std::uint32_t> out;
};

struct CallEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Weight weight;            // once per stack
  bool residual = false;    // there are left-out nodes between the two
  bool inlined = true;      // every stack says so
  bool removed = false;     // for its users: taken out of the graph
  std::uint32_t stack = 0;  // the last one that was counted
};

class CallGraph {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit CallGraph(GraphRules rules = {}, bool with_edges = true)
      : rules_(rules), with_edges_(with_edges) {}

  // Nodes are numbers below `count`; more may come later.
  void Resize(std::size_t count);
  // Adds one stack, innermost first. `inlined`: per frame of the stack, 1 = inlined into the next;
  // empty = none is. `kept`: per node, 0 = leave it out and join its neighbours; empty = keep all.
  // Nodes whose cum it adds to are listed in counted(). Returns the node that its flat value goes
  // to: the innermost, or kNone when that is left out or the stack is empty.
  std::uint32_t AddStack(std::span<const NodeId> stack, std::span<const char> inlined,
                         const Weight& weight, const std::vector<char>& kept);
  [[nodiscard]] std::span<const std::uint32_t> counted() const {
    return std::span(counted_).first(counted_count_);
  }

  // How informative a node is: branching counts, mere pass-through does not (an entropy).
  [[nodiscard]] std::int64_t Score(std::uint32_t node) const;
  // Whether there is another path from the edge's source to its destination; removed edges are not
  // followed.
  [[nodiscard]] bool HasOtherWay(std::uint32_t edge) const;
  // Takes a node out of a tree: its callees become its caller's, over residual edges.
  void Splice(std::uint32_t node);
  // a + b by the rules.
  [[nodiscard]] Weight Sum(const Weight& a, const Weight& b) const;

  [[nodiscard]] const std::vector<CallNode>& nodes() const { return nodes_; }
  // In the order in which stacks brought them.
  [[nodiscard]] const std::vector<CallEdge>& edges() const { return edges_; }
  void SetRemoved(std::uint32_t edge, bool removed) { edges_[edge].removed = removed; }

 private:
  void AddEdge(std::uint32_t from, std::uint32_t to, const Weight& weight, bool residual,
               bool inlined);
  [[nodiscard]] std::size_t Find(std::uint32_t from, std::uint32_t to) const;
  void Grow();
  [[nodiscard]] std::vector<std::int64_t> Flows(const std::vector<std::uint32_t>& rows) const;
  [[nodiscard]] double Entropy(const std::vector<std::int64_t>& flows, std::int64_t own) const;
  [[nodiscard]] std::int64_t Sum(std::int64_t a, std::int64_t b) const;

  GraphRules rules_;
  bool with_edges_;
  std::vector<CallNode> nodes_;
  std::vector<CallEdge> edges_;
  std::uint32_t stack_ = 0;
  std::vector<std::uint32_t> seen_;  // per node: the last stack that was counted
  // As long as the longest stack; of the last one, the first counted_count_ are in use.
  std::vector<std::uint32_t> counted_;
  std::size_t counted_count_ = 0;
  std::vector<std::uint32_t> slots_;  // open addressing: edge + 1, 0 = free; a power of two
};

}  // namespace memtool
