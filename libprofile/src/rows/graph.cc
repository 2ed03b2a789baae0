#include "memtool/profile/rows/graph.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/rows/call_graph.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

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

  [[nodiscard]] const CallGraph& calls() const { return calls_; }
  [[nodiscard]] CallGraph& calls() { return calls_; }
  [[nodiscard]] std::int64_t without_stack() const { return without_stack_; }
  // Per input: the kept innermost node of each stack that has flat value there, or none.
  [[nodiscard]] const std::vector<std::vector<NodeId>>& leaves() const { return leaves_; }

 private:
  void RunInput(const SignedInput& signed_input, const std::vector<char>& kept) {
    const Input& input = signed_input.input;
    NodeWalker walker(*input.view, granularity_, space_);
    calls_.Resize(space_.size());
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
      } else if (calls_.AddStack(stack.nodes, {}, {value}, kept) != CallGraph::kNone) {
        leaves[sum.stack.value()] = stack.nodes.front();
      }
    }
    leaves_.push_back(std::move(leaves));
  }

  std::span<const SignedInput> inputs_;
  Granularity granularity_;
  NodeSpace& space_;
  CallGraph calls_;
  std::vector<std::vector<NodeId>> leaves_;
  std::int64_t without_stack_ = 0;
};

// Which nodes to draw, most telling first.
std::vector<NodeId> SelectNodes(const GraphPass& all, const GraphOptions& options,
                                const NodeSpace& space, Graph& graph) {
  const std::vector<CallNode>& values = all.calls().nodes();
  std::int64_t flat_sum = 0;
  for (const CallNode& value : values) {
    flat_sum = SaturatingAdd(flat_sum, value.flat.value);
  }
  graph.node_cutoff = Magnitude(Scaled(flat_sum, options.node_fraction));
  std::vector<std::int64_t> scores(values.size());
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (values[i].flat.value == 0 && values[i].cum.value == 0) {
      continue;
    }
    ++graph.nodes_all;
    if (Magnitude(values[i].cum.value) < graph.node_cutoff) {
      ++graph.nodes_small;
    } else {
      scores[i] = all.calls().Score(i);
      nodes.emplace_back(i);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    const auto key = [&](NodeId id) {
      return std::tuple(-Magnitude(scores[id.value()]), space.Name(id), space.File(id),
                        space[id].line, -Magnitude(values[id.value()].flat.value));
    };
    return key(a) < key(b);
  });
  if (options.node_count > 0 && nodes.size() > options.node_count) {
    nodes.resize(options.node_count);
  }
  return nodes;
}

// An edge to be drawn and its row in the call graph.
struct Flow {
  GraphEdge edge;
  std::uint32_t row = 0;
};

// Keeps the heaviest edges, and each node's heaviest incoming edge, so that no node is left
// unconnected for want of it.
void LimitEdges(std::vector<Flow>& edges, const GraphOptions& options, Graph& graph) {
  std::int64_t flat_sum = 0;
  for (const GraphNode& node : graph.nodes) {
    flat_sum = SaturatingAdd(flat_sum, node.value.flat);
  }
  graph.edge_cutoff = Magnitude(Scaled(flat_sum, options.edge_fraction));
  if (options.edge_count == 0 && graph.edge_cutoff == 0) {
    return;
  }
  std::vector<char> reached(graph.nodes.size(), 0);
  std::vector<Flow> kept;
  std::vector<Flow> spare;
  for (const Flow& flow : edges) {  // heaviest first
    if (Magnitude(flow.edge.weight) < graph.edge_cutoff) {
      ++graph.edges_small;
      continue;
    }
    (reached[flow.edge.to] == 0 ? kept : spare).push_back(flow);
    reached[flow.edge.to] = 1;
  }
  for (const Flow& flow : spare) {
    if (options.edge_count == 0 || kept.size() < options.edge_count) {
      kept.push_back(flow);
    }
  }
  if (options.edge_count > 0 && kept.size() > options.edge_count) {
    kept.resize(options.edge_count);  // the incoming edges alone are too many: the heaviest stay
  }
  edges = std::move(kept);
}

// An edge that a reader would miss whatever other path there is: it carries most of what its target
// holds, or much of everything.
bool IsSignificant(const GraphEdge& edge, const Graph& graph) {
  constexpr std::int64_t kMuch = 10;  // one part in ten
  const std::int64_t weight = Magnitude(edge.weight);
  return weight > Magnitude(graph.nodes[edge.to].value.cum) / 2 ||
         weight >= std::max<std::int64_t>(1, graph.total / kMuch);
}

// Removes residual edges whose ends are joined by another path (pprof's rule), lightest first, but
// none that says much.
void DropRedundant(std::vector<Flow>& flows, CallGraph& calls, Graph& graph) {
  for (std::uint32_t row = 0; row < calls.edges().size(); ++row) {
    calls.SetRemoved(row, true);
  }
  for (const Flow& flow : flows) {
    calls.SetRemoved(flow.row, false);
  }
  for (std::size_t i = flows.size(); i-- > 0;) {
    const std::uint32_t row = flows[i].row;
    calls.SetRemoved(row, calls.edges()[row].residual && !IsSignificant(flows[i].edge, graph) &&
                              calls.HasOtherWay(row));
  }
  graph.edges_redundant =
      std::erase_if(flows, [&](const Flow& flow) { return calls.edges()[flow.row].removed; });
}

// Nobody sees more of a label; an input may give one of megabytes to each of its nodes.
constexpr std::size_t kMaxTagBytes = 4096;

std::string TagText(const View& view, LabelSetId labels) {
  std::vector<std::string> parts;
  const Recording& recording = view.recording();
  for (const Label& label : recording.Labels(labels)) {
    if (!label.numeric && view.ShowsKey(label.key)) {
      parts.push_back(Abridge(recording.Text(label.key), kMaxTagBytes) + ":" +
                      Abridge(recording.Text(label.text), kMaxTagBytes));
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
  RowMap row_of;  // (node index, label set) → row of sums
  std::vector<std::pair<std::uint64_t, std::int64_t>> sums;
  ForEachSample(*recording.profile, *input.choice, [&](const SampleValue& sample) {
    const NodeId leaf = leaves[sample.stack.value()];
    if (leaf.valid() && input.view->Keeps(sample.labels)) {
      const std::uint64_t node = index_of[leaf.value()];
      const std::uint64_t key = node << 32U | sample.labels.value();
      const std::uint32_t row = row_of.GetOrPut(key, static_cast<std::uint32_t>(sums.size()));
      if (row == sums.size()) {
        sums.emplace_back(key, 0);
      }
      std::int64_t& sum = sums[row].second;
      sum = SaturatingAdd(sum, sample.value);
    }
  });
  for (const auto& [key, sum] : sums) {
    const LabelSetId set(static_cast<std::uint32_t>(key));
    std::int64_t& weight = tags[key >> 32U][TagText(*input.view, set)];
    weight = SaturatingAdd(weight, signed_input.sign < 0 ? SaturatingSubtract(0, sum) : sum);
  }
}

// The lines of a tag.
std::set<std::string_view> SplitLines(std::string_view text) {
  std::set<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.insert(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

// The labels that all of the nodes' own memory has; empty where only one node has labels.
std::vector<std::string> CommonTags(const TagWeights& tags, const Graph& graph) {
  std::optional<std::set<std::string_view>> common;
  std::size_t tagged = 0;
  for (std::size_t n = 0; n < tags.size(); ++n) {
    if (tags[n].empty() && graph.nodes[n].value.flat != 0) {
      return {};
    }
    tagged += tags[n].empty() ? 0 : 1;
    for (const auto& [text, weight] : tags[n]) {
      const auto lines = SplitLines(text);
      if (!common) {
        common = lines;
      } else {
        std::erase_if(*common, [&lines](std::string_view line) { return !lines.contains(line); });
      }
    }
  }
  return common && tagged > 1 ? std::vector<std::string>(common->begin(), common->end())
                              : std::vector<std::string>{};
}

// The heaviest label sets of each node.
void AddTags(std::span<const SignedInput> inputs, const GraphPass& pass,
             const std::vector<std::uint32_t>& index_of, const GraphOptions& options,
             Graph& graph) {
  TagWeights tags(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SumTags(inputs[i], pass.leaves()[i], index_of, tags);
  }
  graph.common_tags = CommonTags(tags, graph);
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

// The place of each node, as tables have it.
void AddPlaces(std::span<const SignedInput> inputs, const GraphOptions& options, NodeSpace& space,
               Graph& graph) {
  FlatCum flat_cum(space);
  for (const SignedInput& signed_input : inputs) {
    flat_cum.Add(*signed_input.input.view, *signed_input.input.sums, options.granularity);
  }
  const std::vector<Place> places = flat_cum.Places();
  for (GraphNode& graph_node : graph.nodes) {
    const Node& node = space[graph_node.id];
    graph_node.place = places[graph_node.id.value()];
    if (node.file != StringId(0U)) {
      graph_node.place.file = space.Share(node.file);
    }
    if (options.granularity == Granularity::kFile || options.granularity == Granularity::kModule) {
      graph_node.place.line = graph_node.place.more = 0;
    }
  }
}

void SortEdges(std::vector<Flow>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Flow& a, const Flow& b) {
    return std::tuple(-Magnitude(a.edge.weight), a.edge.from, a.edge.to) <
           std::tuple(-Magnitude(b.edge.weight), b.edge.from, b.edge.to);
  });
}

// The edges between the nodes shown, cut down to what can be laid out.
void AddEdges(CallGraph& calls, const std::vector<std::uint32_t>& index_of,
              const GraphOptions& options, Graph& graph) {
  std::vector<Flow> flows;
  flows.reserve(calls.edges().size());
  for (std::uint32_t row = 0; row < calls.edges().size(); ++row) {
    const CallEdge& edge = calls.edges()[row];
    flows.push_back(
        {{index_of[edge.from], index_of[edge.to], edge.weight.value, edge.residual}, row});
  }
  graph.edges_all = flows.size();
  SortEdges(flows);
  LimitEdges(flows, options, graph);
  SortEdges(flows);
  if (options.edge_count > 0) {
    DropRedundant(flows, calls, graph);
  }
  graph.edges.reserve(flows.size());
  for (const Flow& flow : flows) {
    graph.edges.push_back(flow.edge);
  }
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
    const CallNode& node = pass.calls().nodes()[id.value()];
    graph.nodes.push_back({.id = id, .value = {.flat = node.flat.value, .cum = node.cum.value}});
    graph.shown = SaturatingAdd(graph.shown, graph.nodes.back().value.flat);
  }
  AddEdges(pass.calls(), index_of, options, graph);
  AddTags(inputs, pass, index_of, options, graph);
  AddPlaces(inputs, options, space, graph);
  return graph;
}

}  // namespace memtool
