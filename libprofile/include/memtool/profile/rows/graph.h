// The call graph: nodes with flat and cum, edges with what flows through them, trimmed to what can
// be laid out and read. Meaning follows pprof (cum once per node and stack, an edge once per caller
// and callee, residual edges over left-out nodes); the limits and the labels do not: labels never
// take the place of nodes, and edges are limited because layout time depends on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/table.h"

namespace memtool {

struct GraphOptions {
  Granularity granularity = Granularity::kFileFunction;
  std::size_t node_count = 80;  // 0 = all
  // 0 = all, redundant ones too; dot needs about a second for 1,500.
  std::size_t edge_count = 300;
  double node_fraction = 0.005;  // nodes with less |cum| than this part of Σ flat are left out
  double edge_fraction = 0.001;
  std::size_t tags_per_node = 4;
};

// An input of a graph; sign -1 subtracts it (a base).
struct SignedInput {
  Input input;
  int sign = 1;
};

struct GraphTag {
  std::string text;  // "device:cuda:0\nkind:buffer"
  std::int64_t weight = 0;
};

struct GraphNode {
  NodeId id;
  NodeValue value;
  Place place;
  std::vector<GraphTag> tags;  // of the node's flat value, heaviest first
};

struct GraphEdge {
  std::uint32_t from = 0;  // index into Graph::nodes
  std::uint32_t to = 0;
  std::int64_t weight = 0;
  bool residual = false;  // at least one stack has left-out nodes between the two
};

struct Graph {
  std::vector<GraphNode> nodes;  // most telling first (pprof's entropy score)
  std::vector<GraphEdge> edges;  // heaviest first
  // what percentages are of: Σ |an input's total| before filters; of bases if any
  std::int64_t total = 0;
  std::int64_t shown = 0;           // Σ flat of the nodes shown
  std::size_t nodes_all = 0;        // nodes before any was left out
  std::size_t nodes_small = 0;      // left out as too small
  std::size_t edges_all = 0;        // edges between the nodes shown
  std::size_t edges_small = 0;      // of these, left out as too small,
  std::size_t edges_redundant = 0;  // or because another path joins their ends
  std::int64_t node_cutoff = 0;     // smallest |cum| kept
  std::int64_t edge_cutoff = 0;     // smallest |weight| kept
  // Tag lines that all of the nodes' own memory shares, when several nodes have tags.
  std::vector<std::string> common_tags;
  std::int64_t without_stack = 0;
};

Graph BuildGraph(std::span<const SignedInput> inputs, const GraphOptions& options,
                 NodeSpace& space);

}  // namespace memtool
