#include "memtool/profile/answers/graph.h"

#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

Value::List Edges(const Graph& graph) {
  Value::List edges;
  for (const GraphEdge& edge : graph.edges) {
    edges.push_back(Value::Object{{"from", edge.from},
                                  {"to", edge.to},
                                  {"weight", edge.weight},
                                  {"residual", edge.residual}});
  }
  return edges;
}

}  // namespace

std::string_view NodeName(const GraphRow& row) {
  const std::string_view name = row.answer->names.Name(row.node().id);
  return name.empty() ? row.answer->names.File(row.node().id) : name;
}

Value NodeTags(const GraphRow& row) {
  Value::List tags;
  for (const GraphTag& tag : row.node().tags) {
    tags.push_back(Value::Object{{"text", tag.text}, {"weight", tag.weight}});
  }
  return tags;
}

GraphAnswer MakeGraph(const std::vector<Selection>& bases, const std::vector<Selection>& inputs,
                      const GraphOptions& options) {
  GraphAnswer answer{.difference = !bases.empty()};
  std::vector<SignedInput> all;
  const auto add = [&](const std::vector<Selection>& selections, int sign) {
    for (const Selection& selection : selections) {
      answer.head.Add(selection);
      all.push_back({MakeInput(selection), sign});
    }
  };
  add(bases, -1);
  add(inputs, 1);
  answer.graph = BuildGraph(all, options, answer.names);
  answer.shown_share =
      answer.graph.total == 0 ? 0.0 : Ratio(answer.graph.shown, answer.graph.total);
  return answer;
}

AnswerView MakeView(const GraphAnswer& answer) {
  const Graph& graph = answer.graph;
  AnswerView view = ViewStream<GraphRow>(
      answer.head,
      {{"difference", answer.difference},
       {"total", graph.total},
       {"shown", graph.shown},
       {"without_stack", graph.without_stack},
       {"nodes_left_out", std::uint64_t{answer.nodes_left_out()}},
       {"nodes_small", std::uint64_t{graph.nodes_small}},
       {"node_cutoff", graph.node_cutoff},
       {"edges_left_out", std::uint64_t{answer.edges_left_out()}},
       {"edges", Edges(graph)}},
      {kGraphFields.begin(), kGraphFields.end()}, [&answer](std::size_t limit) {
        const std::size_t all = answer.graph.nodes.size();
        return RowStream<GraphRow>([&answer, end = limit == 0 ? all : std::min(limit, all),
                                    next = std::size_t{0}, row = GraphRow{}]() mutable {
          row = {&answer, next};
          return next++ < end ? &row : nullptr;
        });
      });
  view.row_count = graph.nodes.size();
  return view;
}

}  // namespace memtool
