#include "memtool/profile/answers/tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

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
    return std::tuple(-first, -second, space.Name(graph.nodes[i].id).substr(0, SharedText::kHead),
                      space.File(graph.nodes[i].id).substr(0, SharedText::kHead), i);
  };
  std::sort(ranked.begin(), ranked.end(),
            [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  if (query.functions > 0 && ranked.size() > query.functions) {
    ranked.resize(query.functions);
  }
  return ranked;
}

}  // namespace

TreeSource::TreeSource(Graph graph, NodeSpace names, std::vector<std::uint32_t> shown)
    : graph_(std::move(graph)),
      names_(std::move(names)),
      shown_(std::move(shown)),
      callers_(Join(graph_, &GraphEdge::to)),
      callees_(Join(graph_, &GraphEdge::from)) {}

TreeSource::Neighbours TreeSource::Join(const Graph& graph, std::uint32_t GraphEdge::*end) {
  Neighbours joined;
  joined.begins.resize(graph.nodes.size() + 1);
  for (const GraphEdge& edge : graph.edges) {
    ++joined.begins[edge.*end + 1];
  }
  std::partial_sum(joined.begins.begin(), joined.begins.end(), joined.begins.begin());
  std::vector<std::size_t> next = joined.begins;
  joined.edges.resize(graph.edges.size());
  for (std::uint32_t row = 0; row < graph.edges.size(); ++row) {  // heaviest first
    joined.edges[next[graph.edges[row].*end]++] = row;
  }
  return joined;
}

std::size_t TreeSource::GetRows(std::uint32_t node) const {
  return callers_.Of(node).size() + 1 + callees_.Of(node).size();
}

std::vector<std::size_t> TreeSource::Blocks() const {
  std::vector<std::size_t> blocks;
  blocks.reserve(shown_.size());
  std::size_t begin = 0;
  for (const std::uint32_t node : shown_) {
    blocks.push_back(begin);
    begin += GetRows(node);
  }
  return blocks;
}

std::string_view TreeSource::ToName(std::uint32_t node) const {
  const std::string_view name = names_.Name(graph_.nodes[node].id);
  return name.empty() ? names_.File(graph_.nodes[node].id) : name;
}

TreeRow TreeSource::Make(std::uint32_t node, std::size_t at) const {
  const auto callers = callers_.Of(node);
  TreeRow row{.node = ToName(node)};
  std::uint32_t about = node;
  if (at == callers.size()) {
    row.flat = graph_.nodes[node].value.flat;
    row.cum = graph_.nodes[node].value.cum;
  } else {
    const bool caller = at < callers.size();
    const GraphEdge& edge =
        graph_.edges[caller ? callers[at] : callees_.Of(node)[at - callers.size() - 1]];
    row.relation = caller ? TreeRelation::kCaller : TreeRelation::kCallee;
    row.weight = edge.weight;
    about = caller ? edge.from : edge.to;
  }
  row.name = ToName(about);
  row.file = graph_.nodes[about].place.file;
  row.line = graph_.nodes[about].place.line;
  row.more_lines = graph_.nodes[about].place.more;
  return row;
}

RowStream<TreeRow> TreeSource::Rows() const {
  return
      [this, block = std::size_t{0}, at = std::size_t{0}, row = TreeRow{}]() mutable -> TreeRow* {
        if (block == shown_.size()) {
          return nullptr;
        }
        const std::uint32_t node = shown_[block];
        row = Make(node, at++);
        if (at == GetRows(node)) {
          ++block;
          at = 0;
        }
        return &row;
      };
}

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
    all.push_back({MakeInput(selection), 1});
  }
  NodeSpace space;
  // No limits: what is shown is chosen by rank, not by what fits a picture.
  Graph graph = BuildGraph(all,
                           {.granularity = query.granularity,
                            .node_count = 0,
                            .edge_count = 0,
                            .node_fraction = 0,
                            .edge_fraction = 0},
                           space);
  answer.total = graph.total;
  answer.functions = static_cast<std::int64_t>(graph.nodes_all);
  std::vector<std::uint32_t> shown = Ranked(graph, space, query);
  answer.source =
      std::make_shared<const TreeSource>(std::move(graph), std::move(space), std::move(shown));
  answer.blocks = answer.source->Blocks();
  return answer;
}

AnswerView MakeView(const TreeAnswer& answer) {
  return ViewStream<TreeRow>(
      answer.head, {{"total", answer.total}, {"nodes", answer.functions}},
      {kTreeFields.begin(), kTreeFields.end()},
      [source = answer.source](std::size_t /*limit*/) { return source->Rows(); });
}

}  // namespace memtool
