// Who calls whom, and with how much: nodes and edges that can be laid out and read, and what was
// left out of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/rows/graph.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// Amounts are in the unit of the answer; they are differences where a base was subtracted.
struct GraphAnswer {
  AnswerHead head{.question = "graph"};  // inputs: the bases, then the others
  Graph graph;
  NodeSpace names;          // of GraphNode::id
  bool difference = false;  // a base was subtracted
  double shown_share = 0;   // share of Graph::total in the nodes shown; 0 where the total is 0

  [[nodiscard]] std::size_t nodes_left_out() const { return graph.nodes_all - graph.nodes.size(); }
  [[nodiscard]] std::size_t edges_left_out() const { return graph.edges_all - graph.edges.size(); }
};

// A node as fields read it: its row of Graph::nodes.
struct GraphRow {
  const GraphAnswer* answer = nullptr;
  std::size_t index = 0;

  [[nodiscard]] const GraphNode& node() const { return answer->graph.nodes[index]; }
};

// A function, or the file or module where nodes are those.
std::string_view NodeName(const GraphRow& row);
// [{"text": "device:cuda:0", "weight": 4096}, …], heaviest first
Value NodeTags(const GraphRow& row);

inline constexpr auto kGraphFields = Fields<GraphRow>({
    {"name", "WHERE", Unit::kText, [](const GraphRow& row) { return Value(NodeName(row)); },
     "the function, or the file or module"},
    {"file", "", Unit::kText, [](const GraphRow& row) { return Value(row.node().place.file); },
     "the file that the name is in"},
    {"line", "", Unit::kOrdinal,
     [](const GraphRow& row) { return LineValue(row.node().place.line); }, "the line in that file"},
    {"flat", "FLAT", Unit::kAmount,
     [](const GraphRow& row) { return Value(row.node().value.flat); }, "what it holds itself"},
    {"cum", "CUM", Unit::kAmount, [](const GraphRow& row) { return Value(row.node().value.cum); },
     "what it and everything that it calls hold"},
    {"tags", "", Unit::kNested, NodeTags, "its labels, heaviest first", kPlain,
     "{text: string, weight: integer}[]"},
});

// Nodes are rows; the edges are a figure besides them, with ends as numbers of rows from 0.
AnswerView MakeView(const GraphAnswer& answer);

// `bases` are subtracted from `inputs`; they may be empty.
GraphAnswer MakeGraph(const std::vector<Selection>& bases, const std::vector<Selection>& inputs,
                      const GraphOptions& options);

}  // namespace memtool
