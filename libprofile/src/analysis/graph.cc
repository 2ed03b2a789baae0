#include "memtool/profile/analysis/graph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

#include "edge_map.h"

namespace memtool {

namespace {

// Values and edges over all nodes, or over the kept ones only.
class GraphPass {
 public:
  GraphPass(std::span<const SignedInput> inputs, Granularity granularity, NodeSpace& space)
      : inputs_(inputs), granularity_(granularity), space_(space) {}

  // `kept`: per node, or empty for all.
  void Run(const std::vector<char>& kept) {
    for (const SignedInput& signed_input : inputs_) {
      RunInput(signed_input, kept);
    }
  }

  [[nodiscard]] std::vector<NodeValue>& values() { return values_; }
  [[nodiscard]] const EdgeMap& edges() const { return edges_; }
  [[nodiscard]] std::int64_t without_stack() const { return without_stack_; }
  // Per input: the kept innermost node of each stack that has flat value there, or none.
  [[nodiscard]] const std::vector<std::vector<NodeId>>& leaves() const { return leaves_; }

 private:
  void RunInput(const SignedInput& signed_input, const std::vector<char>& kept) {
    const Input& input = signed_input.input;
    NodeWalker walker(*input.view, granularity_, space_);
    values_.resize(space_.size());
    last_seen_.resize(space_.size(), 0);
    std::vector<NodeId> leaves(input.view->recording().stack_count());
    NodeStack stack;
    for (const StackSum& sum : input.sums->rows) {
      if (sum.value == 0 || !walker.Expand(sum, stack)) {
        continue;
      }
      const std::int64_t value =
          signed_input.sign < 0 ? SaturatingSubtract(0, sum.value) : sum.value;
      if (stack.nodes.empty()) {
        without_stack_ = SaturatingAdd(without_stack_, value);
        continue;
      }
      if (AddStack(stack, value, kept)) {
        leaves[sum.stack.value()] = stack.nodes.front();
      }
    }
    leaves_.push_back(std::move(leaves));
  }

  // Returns whether the innermost node was kept.
  bool AddStack(const NodeStack& stack, std::int64_t value, const std::vector<char>& kept) {
    ++epoch_;
    NodeId caller;
    bool residual = false;
    for (std::size_t i = stack.nodes.size(); i-- > 0;) {
      const NodeId node = stack.nodes[i];
      if (!kept.empty() && kept[node.value()] == 0) {
        residual = true;
        continue;
      }
      if (last_seen_[node.value()] != epoch_) {
        last_seen_[node.value()] = epoch_;
        std::int64_t& cum = values_[node.value()].cum;
        cum = SaturatingAdd(cum, value);
      }
      if (caller.valid() && caller != node) {
        edges_.Add(caller.value(), node.value(), value, epoch_, residual);
      }
      caller = node;
      residual = false;
    }
    const NodeId leaf = stack.nodes.front();
    if (!kept.empty() && kept[leaf.value()] == 0) {
      return false;
    }
    std::int64_t& flat = values_[leaf.value()].flat;
    flat = SaturatingAdd(flat, value);
    return true;
  }

  std::span<const SignedInput> inputs_;
  Granularity granularity_;
  NodeSpace& space_;
  std::vector<NodeValue> values_;
  std::vector<std::uint32_t> last_seen_;
  std::uint32_t epoch_ = 0;
  EdgeMap edges_;
  std::vector<std::vector<NodeId>> leaves_;
  std::int64_t without_stack_ = 0;
};

double Entropy(const std::vector<std::int64_t>& weights, std::int64_t own, bool* any) {
  auto total = static_cast<double>(own);
  for (const std::int64_t weight : weights) {
    total += weight > 0 ? static_cast<double>(weight) : 0;
  }
  *any = !weights.empty();
  double entropy = 0;
  const auto add = [&](std::int64_t weight) {
    if (weight > 0 && total > 0) {
      const double share = static_cast<double>(weight) / total;
      entropy -= share * std::log2(share);
    }
  };
  for (const std::int64_t weight : weights) {
    add(weight);
  }
  add(own);
  return entropy;
}

// pprof's measure of how much a node tells: branching counts, plain pass-through does not.
std::vector<std::int64_t> Scores(const std::vector<NodeValue>& values,
                                 const std::vector<EdgeMap::Edge>& edges) {
  std::vector<std::vector<std::int64_t>> in(values.size());
  std::vector<std::vector<std::int64_t>> out(values.size());
  for (const EdgeMap::Edge& edge : edges) {
    out[edge.from].push_back(edge.weight);
    in[edge.to].push_back(edge.weight);
  }
  std::vector<std::int64_t> scores(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Summed in one order, whatever the hash table's.
    std::sort(in[i].begin(), in[i].end());
    std::sort(out[i].begin(), out[i].end());
    bool any_in = false;
    bool any_out = false;
    const double in_entropy = Entropy(in[i], 0, &any_in);
    const double out_entropy = Entropy(out[i], values[i].flat, &any_out);
    const double factor = (any_in ? in_entropy : 1.0) + (any_out ? out_entropy : 1.0);
    const double score = factor * static_cast<double>(values[i].cum);
    scores[i] = SaturatingAdd(static_cast<std::int64_t>(std::clamp(score, -9.2e18, 9.2e18)),
                              values[i].flat);
  }
  return scores;
}

// Which nodes to draw, most telling first.
std::vector<NodeId> SelectNodes(GraphPass& all, const GraphOptions& options, const NodeSpace& space,
                                Graph& graph) {
  const std::vector<NodeValue>& values = all.values();
  std::int64_t flat_sum = 0;
  for (const NodeValue& value : values) {
    flat_sum = SaturatingAdd(flat_sum, value.flat);
  }
  graph.node_cutoff = Magnitude(Scaled(flat_sum, options.node_fraction));
  const std::vector<std::int64_t> scores = Scores(values, all.edges().Edges());
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (values[i].flat == 0 && values[i].cum == 0) {
      continue;
    }
    ++graph.nodes_all;
    if (Magnitude(values[i].cum) < graph.node_cutoff) {
      ++graph.nodes_small;
    } else {
      nodes.emplace_back(i);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    const auto key = [&](NodeId id) {
      return std::tuple(-Magnitude(scores[id.value()]), space.Name(id), space.File(id),
                        space[id].line, -Magnitude(values[id.value()].flat));
    };
    return key(a) < key(b);
  });
  if (options.node_count > 0 && nodes.size() > options.node_count) {
    nodes.resize(options.node_count);
  }
  return nodes;
}

// The heaviest edges; a node's heaviest way in is kept, so that nothing hangs loose for want of it.
void LimitEdges(std::vector<GraphEdge>& edges, const Graph& graph, const GraphOptions& options) {
  std::int64_t flat_sum = 0;
  for (const GraphNode& node : graph.nodes) {
    flat_sum = SaturatingAdd(flat_sum, node.value.flat);
  }
  const auto cutoff = Magnitude(Scaled(flat_sum, options.edge_fraction));
  std::vector<char> reached(graph.nodes.size(), 0);
  std::vector<GraphEdge> kept;
  std::vector<GraphEdge> spare;
  for (const GraphEdge& edge : edges) {  // heaviest first
    if (Magnitude(edge.weight) < cutoff) {
      continue;
    }
    (reached[edge.to] == 0 ? kept : spare).push_back(edge);
    reached[edge.to] = 1;
  }
  for (const GraphEdge& edge : spare) {
    if (options.edge_count == 0 || kept.size() < options.edge_count) {
      kept.push_back(edge);
    }
  }
  if (options.edge_count > 0 && kept.size() > options.edge_count) {
    kept.resize(options.edge_count);  // the ways in alone are too many: the heaviest stay
  }
  edges = std::move(kept);
}

// Takes out residual edges whose ends are joined by another way (pprof's rule).
void DropRedundant(std::vector<GraphEdge>& edges, std::size_t nodes) {
  const auto reaches = [&edges, nodes](std::uint32_t from, std::uint32_t to, std::size_t without) {
    std::vector<char> seen(nodes, 0);
    std::vector<std::uint32_t> queue{from};
    seen[from] = 1;
    while (!queue.empty()) {
      const std::uint32_t at = queue.back();
      queue.pop_back();
      for (std::size_t i = 0; i < edges.size(); ++i) {
        if (i != without && edges[i].from == at && seen[edges[i].to] == 0) {
          if (edges[i].to == to) {
            return true;
          }
          seen[edges[i].to] = 1;
          queue.push_back(edges[i].to);
        }
      }
    }
    return false;
  };
  // Lightest first.
  for (std::size_t i = edges.size(); i-- > 0;) {
    if (edges[i].residual && reaches(edges[i].from, edges[i].to, i)) {
      edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

std::string TagText(const View& view, LabelSetId labels) {
  std::vector<std::string> parts;
  const Recording& recording = view.recording();
  for (const Label& label : recording.Labels(labels)) {
    if (!label.numeric && view.ShowsKey(label.key)) {
      parts.push_back(std::string(recording.Text(label.key)) + ":" +
                      std::string(recording.Text(label.text)));
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

using TagWeights = std::vector<std::map<std::string, std::int64_t>>;  // per node

// Adds the labels of one input's samples to the nodes that have their flat value.
void SumTags(const SignedInput& signed_input, std::span<const NodeId> leaves,
             const std::vector<std::uint32_t>& index_of, TagWeights& tags) {
  const Input& input = signed_input.input;
  const Recording& recording = input.view->recording();
  if (recording.label_set_count() < 2) {
    return;
  }
  std::unordered_map<std::uint64_t, std::int64_t> sums;  // (node index, label set) → value
  ForEachSample(*recording.profile, *input.choice, [&](const SampleValue& sample) {
    const NodeId leaf = leaves[sample.stack.value()];
    if (leaf.valid() && input.view->Keeps(sample.labels)) {
      const std::uint64_t node = index_of[leaf.value()];
      std::int64_t& sum = sums[node << 32U | sample.labels.value()];
      sum = SaturatingAdd(sum, sample.value);
    }
  });
  for (const auto& [key, sum] : sums) {
    const LabelSetId set(static_cast<std::uint32_t>(key));
    std::int64_t& weight = tags[key >> 32U][TagText(*input.view, set)];
    weight = SaturatingAdd(weight, signed_input.sign < 0 ? SaturatingSubtract(0, sum) : sum);
  }
}

// The heaviest label sets of each node.
void AddTags(std::span<const SignedInput> inputs, const GraphPass& pass,
             const std::vector<std::uint32_t>& index_of, const GraphOptions& options,
             Graph& graph) {
  TagWeights tags(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SumTags(inputs[i], pass.leaves()[i], index_of, tags);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::vector<GraphTag>& shown = graph.nodes[n].tags;
    for (const auto& [text, weight] : tags[n]) {
      if (!text.empty() && weight != 0) {
        shown.push_back({text, weight});
      }
    }
    std::sort(shown.begin(), shown.end(), [](const GraphTag& a, const GraphTag& b) {
      return std::tuple(-Magnitude(a.weight), std::string_view(a.text)) <
             std::tuple(-Magnitude(b.weight), std::string_view(b.text));
    });
    if (shown.size() > options.tags_per_node) {
      shown.resize(options.tags_per_node);
    }
  }
}

// The file of each node: of the first recording that has the function.
void AddPlaces(std::span<const SignedInput> inputs, const GraphOptions& options, NodeSpace& space,
               Graph& graph) {
  std::unordered_map<std::uint32_t, std::size_t> wanted;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    wanted.emplace(graph.nodes[i].id.value(), i);
  }
  for (const SignedInput& signed_input : inputs) {
    const Recording& recording = signed_input.input.view->recording();
    const std::vector<NodeId> of_line = space.OfLines(recording, options.granularity);
    for (std::size_t line = 0; line < of_line.size(); ++line) {
      const auto found = wanted.find(of_line[line].value());
      if (found == wanted.end() || !recording.lines[line].function.valid()) {
        continue;
      }
      Place& place = graph.nodes[found->second].place;
      if (place.file.empty()) {
        const Function& function = recording.functions[recording.lines[line].function.value()];
        place.file = recording.Text(function.filename);
        place.line = space[of_line[line]].line;
      }
    }
  }
}

void SortEdges(std::vector<GraphEdge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const GraphEdge& a, const GraphEdge& b) {
    return std::tuple(-Magnitude(a.weight), a.from, a.to) <
           std::tuple(-Magnitude(b.weight), b.from, b.to);
  });
}

// The edges between the nodes shown, cut down to what can be laid out.
void AddEdges(const GraphPass& pass, const std::vector<std::uint32_t>& index_of,
              const GraphOptions& options, Graph& graph) {
  for (const EdgeMap::Edge& edge : pass.edges().Edges()) {
    graph.edges.push_back({index_of[edge.from], index_of[edge.to], edge.weight, edge.residual});
  }
  graph.edges_all = graph.edges.size();
  SortEdges(graph.edges);
  LimitEdges(graph.edges, graph, options);
  SortEdges(graph.edges);
  DropRedundant(graph.edges, graph.nodes.size());
}

// What percentages are of: the bases when there are any, else everything.
std::int64_t Whole(std::span<const SignedInput> inputs) {
  const bool has_base = std::any_of(inputs.begin(), inputs.end(),
                                    [](const SignedInput& input) { return input.sign < 0; });
  std::int64_t whole = 0;
  for (const SignedInput& input : inputs) {
    if (!has_base || input.sign < 0) {
      whole = SaturatingAdd(whole, Magnitude(input.input.sums->total));
    }
  }
  return whole;
}

}  // namespace

Graph BuildGraph(std::span<const SignedInput> inputs, const GraphOptions& options,
                 NodeSpace& space) {
  Graph graph;
  graph.total = Whole(inputs);
  std::vector<NodeId> selected;
  {
    GraphPass all(inputs, options.granularity, space);
    all.Run({});
    graph.without_stack = all.without_stack();
    selected = SelectNodes(all, options, space, graph);
  }
  std::vector<char> kept(space.size(), 0);
  std::vector<std::uint32_t> index_of(space.size(), 0);
  for (std::uint32_t i = 0; i < selected.size(); ++i) {
    kept[selected[i].value()] = 1;
    index_of[selected[i].value()] = i;
  }
  GraphPass pass(inputs, options.granularity, space);
  pass.Run(kept);
  for (const NodeId id : selected) {
    graph.nodes.push_back({.id = id, .value = pass.values()[id.value()]});
    graph.shown = SaturatingAdd(graph.shown, graph.nodes.back().value.flat);
  }
  AddEdges(pass, index_of, options, graph);
  AddTags(inputs, pass, index_of, options, graph);
  AddPlaces(inputs, options, space, graph);
  return graph;
}

}  // namespace memtool
