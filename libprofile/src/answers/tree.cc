#include "memtool/profile/answers/tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/rows/graph.h"

namespace memtool {

namespace {

// What flows between a node and one neighbour.
struct Neighbour {
  std::uint32_t node = 0;
  std::int64_t weight = 0;
};

// Callers and callees per node, heaviest first.
struct Neighbours {
  std::vector<std::vector<Neighbour>> callers;
  std::vector<std::vector<Neighbour>> callees;

  explicit Neighbours(const Graph& graph)
      : callers(graph.nodes.size()), callees(graph.nodes.size()) {
    for (const GraphEdge& edge : graph.edges) {  // heaviest first
      callees[edge.from].push_back({edge.to, edge.weight});
      callers[edge.to].push_back({edge.from, edge.weight});
    }
  }
};

// The nodes to show by size, ties by the other size and by name.
std::vector<std::uint32_t> Ranked(const Graph& graph, const NodeSpace& space,
                                  const TreeQuery& query) {
  std::vector<std::uint32_t> ranked;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!query.names || query.names->Matches(space.Name(graph.nodes[i].id))) {
      ranked.push_back(i);
    }
  }
  const bool by_cum = query.sort == SortBy::kCum;
  const auto key = [&](std::uint32_t i) {
    const NodeValue& value = graph.nodes[i].value;
    const std::int64_t first = Magnitude(by_cum ? value.cum : value.flat);
    const std::int64_t second = Magnitude(by_cum ? value.flat : value.cum);
    return std::tuple(-first, -second, space.Name(graph.nodes[i].id),
                      space.File(graph.nodes[i].id));
  };
  std::sort(ranked.begin(), ranked.end(),
            [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  if (query.functions > 0 && ranked.size() > query.functions) {
    ranked.resize(query.functions);
  }
  return ranked;
}

// Writes the blocks of one graph.
class Blocks {
 public:
  Blocks(const Graph& graph, const NodeSpace& space, TreeAnswer& answer)
      : graph_(graph), space_(space), neighbours_(graph), answer_(answer) {}

  void Add(std::uint32_t node) {
    answer_.blocks.push_back(answer_.rows.size());
    for (const Neighbour& caller : neighbours_.callers[node]) {
      AddRow(node, caller.node, TreeRelation::kCaller).weight = caller.weight;
    }
    TreeRow& self = AddRow(node, node, TreeRelation::kSelf);
    self.flat = graph_.nodes[node].value.flat;
    self.cum = graph_.nodes[node].value.cum;
    for (const Neighbour& callee : neighbours_.callees[node]) {
      AddRow(node, callee.node, TreeRelation::kCallee).weight = callee.weight;
    }
  }

 private:
  [[nodiscard]] std::string NameOf(std::uint32_t node) const {
    const std::string_view name = space_.Name(graph_.nodes[node].id);
    return std::string(name.empty() ? space_.File(graph_.nodes[node].id) : name);
  }

  TreeRow& AddRow(std::uint32_t block, std::uint32_t node, TreeRelation relation) {
    const Place& place = graph_.nodes[node].place;
    return answer_.rows.emplace_back(TreeRow{.relation = relation,
                                             .node = NameOf(block),
                                             .name = NameOf(node),
                                             .file = place.file,
                                             .line = place.line});
  }

  const Graph& graph_;
  const NodeSpace& space_;
  Neighbours neighbours_;
  TreeAnswer& answer_;
};

}  // namespace

std::string_view TreeRelationName(TreeRelation relation) {
  switch (relation) {
    case TreeRelation::kCaller:
      return "caller";
    case TreeRelation::kSelf:
      return "self";
    case TreeRelation::kCallee:
      return "callee";
  }
  return "";
}

TreeAnswer Tree(const std::vector<Selection>& inputs, const TreeQuery& query) {
  TreeAnswer answer;
  std::vector<SignedInput> all;
  for (const Selection& selection : inputs) {
    answer.head.Add(selection);
    all.push_back({InputOf(selection), 1});
  }
  NodeSpace space;
  // No limits: what is shown is chosen by rank, not by what fits a picture.
  const Graph graph = BuildGraph(all,
                                 {.granularity = query.granularity,
                                  .node_count = 0,
                                  .edge_count = 0,
                                  .node_fraction = 0,
                                  .edge_fraction = 0},
                                 space);
  answer.total = graph.total;
  answer.functions = static_cast<std::int64_t>(graph.nodes_all);
  Blocks blocks(graph, space, answer);
  for (const std::uint32_t node : Ranked(graph, space, query)) {
    blocks.Add(node);
  }
  return answer;
}

AnswerView ViewOf(const TreeAnswer& answer) {
  AnswerView view = ViewRows(answer.head, {{"total", answer.total}, {"nodes", answer.functions}},
                             answer.rows, kTreeFields);
  view.further = [row = std::exchange(view.row, {}),
                  count = std::exchange(view.row_count, 0)]() -> NextRow {
    return [row, count, next = std::size_t{0}](std::vector<Value>& values) mutable {
      if (next == count) {
        return false;
      }
      row(next++, values);
      return true;
    };
  };
  return view;
}

}  // namespace memtool
