// Order and trimming of graphs. The steps and their order are pprof's; what it prints depends on
// them.
#include <fmt/format.h>

#include <algorithm>

#include "pprof/graph.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

// Go's Sprint of a node, pprof's last resort for ordering nodes.
std::string Everything(const NodeTable& table, std::uint32_t row) {
  const NodeInfo& info = table[row];
  return fmt::format("{{{}  {} {} {} {} {}}}", table.Text(info.name), info.address,
                     table.Text(info.file), info.start_line, info.line, table.Text(info.binary));
}

class Ranking {
 public:
  Ranking(PprofGraph& graph, const NodeTable& table) : graph_(graph), table_(table) {}

  void ByFlat() {
    Sort([this](std::uint32_t row) { return Abs(graph_.calls.nodes()[row].flat.value); },
         [this](std::uint32_t row) { return Abs(graph_.calls.nodes()[row].cum.value); });
  }
  void ByCum() {
    Sort([this](std::uint32_t row) { return Abs(graph_.calls.nodes()[row].cum.value); },
         [this](std::uint32_t row) { return Abs(graph_.calls.nodes()[row].flat.value); });
  }
  // The most telling first: nodes that merely pass on what comes in are penalised.
  void ByEntropy() {
    std::vector<std::int64_t> scores(graph_.calls.nodes().size());
    for (const std::uint32_t row : graph_.shown) {
      scores[row] = Abs(graph_.calls.Score(row));
    }
    Sort([&scores](std::uint32_t row) { return scores[row]; },
         [this](std::uint32_t row) { return Abs(graph_.calls.nodes()[row].flat.value); });
  }

 private:
  // Largest first, then by name, then by the second value.
  template <class First, class Second>
  void Sort(First first, Second second) {
    std::sort(graph_.shown.begin(), graph_.shown.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (first(a) != first(b)) {
        return first(a) > first(b);
      }
      if (const int order = table_.CompareNames(graph_.info[a], graph_.info[b]); order != 0) {
        return order < 0;
      }
      if (second(a) != second(b)) {
        return second(a) > second(b);
      }
      const std::string all_a = Everything(table_, graph_.info[a]);
      const std::string all_b = Everything(table_, graph_.info[b]);
      return all_a != all_b ? all_a < all_b : a < b;
    });
  }

  PprofGraph& graph_;
  const NodeTable& table_;
};

class Trimmer {
 public:
  Trimmer(const GraphInput& input, bool visual) : input_(input), visual_(visual) {}

  Trimmed Run() {
    const Settings& settings = input_.settings;
    Trimmed trimmed;
    GraphInput first = input_;
    first.tags = input_.tree ? input_.tags : nullptr;  // a graph is built again without small nodes
    graph_ = BuildPprofGraph(first, {});
    std::int64_t sum = 0;
    for (const std::uint32_t row : graph_.shown) {
      sum = WrapAdd(sum, graph_.calls.nodes()[row].flat.value);
    }
    const auto cutoff = [sum](double fraction) {
      return Abs(ToInt(static_cast<double>(sum) * fraction));
    };
    const std::int64_t node_cutoff = cutoff(settings.nodefraction);
    const std::int64_t edge_cutoff = cutoff(settings.edgefraction);
    trimmed.dropped_nodes = DropSmall(node_cutoff);
    trimmed.original = graph_.shown.size();
    Sort();
    if (settings.nodecount > 0) {
      TrimTags(node_cutoff);
      TrimEdges(edge_cutoff);
      auto kept = graph_.shown;
      kept.resize(std::min(kept.size(), CountToKeep(settings.nodecount)));
      if (KeepOnly(kept)) {
        NameTags();
        Sort();
      }
    }
    TrimTags(node_cutoff);
    trimmed.dropped_edges = TrimEdges(edge_cutoff);
    if (visual_) {
      RemoveRedundantEdges();
    }
    trimmed.graph = std::move(graph_);
    return trimmed;
  }

 private:
  void Sort() {
    Ranking ranking(graph_, input_.table);
    if (visual_) {
      ranking.ByEntropy();
    } else if (input_.settings.sort == "cum") {
      ranking.ByCum();
    } else {
      ranking.ByFlat();
    }
  }

  // Returns how many nodes it leaves out. What stays has its tags.
  std::size_t DropSmall(std::int64_t cutoff) {
    auto kept = graph_.shown;
    const std::size_t dropped = std::erase_if(kept, [&](std::uint32_t row) {
      return cutoff > 0 && Abs(graph_.calls.nodes()[row].cum.value) < cutoff;
    });
    const bool changed = KeepOnly(kept);
    if (input_.tags != nullptr && !input_.tree && !changed) {
      graph_ = BuildPprofGraph(input_, {});
    }
    NameTags();
    return dropped;
  }

  void NameTags() {
    if (input_.tags != nullptr) {
      graph_.tags = graph_.tag_sums.Named(*input_.tags, graph_.info.size(), graph_.shown);
    }
  }

  // Leaves nodes out: a graph is built again without them, a tree is spliced. False when all stay.
  bool KeepOnly(const std::vector<std::uint32_t>& rows) {
    if (rows.size() == graph_.shown.size()) {
      return false;
    }
    std::vector<char> kept(input_.tree ? graph_.calls.nodes().size() : input_.table.size(), 0);
    for (const std::uint32_t row : rows) {
      kept[row] = 1;  // in a graph, nodes are rows of the table
    }
    if (!input_.tree) {
      graph_ = BuildPprofGraph(input_, kept);
      return true;
    }
    for (const std::uint32_t row : graph_.shown) {
      if (kept[row] == 0) {
        graph_.calls.Splice(row);
      }
    }
    std::erase_if(graph_.shown, [&](std::uint32_t row) { return kept[row] == 0; });
    RemoveRedundantEdges();
    return true;
  }

  void TrimTags(std::int64_t cutoff) {
    if (graph_.tags.empty()) {
      return;
    }
    const auto small = [cutoff](const auto& entry) {
      return Abs(entry.second.flat.value) < cutoff && Abs(entry.second.cum.value) < cutoff;
    };
    for (const std::uint32_t row : graph_.shown) {
      std::erase_if(graph_.tags[row].texts, small);
      for (auto& [text, numbers] : graph_.tags[row].numbers) {
        std::erase_if(numbers, small);
      }
    }
  }

  // Edges into nodes that are not shown stay: pprof does not look at them.
  std::size_t TrimEdges(std::int64_t cutoff) {
    std::size_t dropped = 0;
    for (const std::uint32_t row : graph_.shown) {
      for (const std::uint32_t in : graph_.calls.nodes()[row].in) {
        const CallEdge& edge = graph_.calls.edges()[in];
        if (!edge.removed && Abs(edge.weight.value) < cutoff) {
          graph_.calls.SetRemoved(in, true);
          ++dropped;
        }
      }
    }
    return dropped;
  }

  // In pictures labels take the place of nodes.
  [[nodiscard]] std::size_t CountToKeep(std::int64_t wanted) const {
    if (!visual_) {
      return static_cast<std::size_t>(wanted);
    }
    constexpr std::size_t kTagsPerNode = 4;
    std::size_t count = 0;
    for (std::size_t i = 0; i < graph_.shown.size(); ++i) {
      count += 1 + std::min(CountTags(graph_.shown[i]), kTagsPerNode);
      if (count >= static_cast<std::size_t>(wanted)) {
        return i + 1;
      }
    }
    return static_cast<std::size_t>(wanted);
  }

  [[nodiscard]] std::size_t CountTags(std::uint32_t row) const {
    if (graph_.tags.empty()) {
      return 0;
    }
    const auto flat = [](const auto& entry) { return entry.second.flat.value != 0; };
    const NodeTags& tags = graph_.tags[row];
    auto count = std::count_if(tags.texts.begin(), tags.texts.end(), flat);
    for (const auto& [text, numbers] : tags.numbers) {
      count += std::count_if(numbers.begin(), numbers.end(), flat);
    }
    return static_cast<std::size_t>(count);
  }

  void RemoveRedundantEdges() {
    for (const std::uint32_t row : Backwards<std::uint32_t>(graph_.shown)) {
      const auto in = SortedEdges(graph_, input_.table, graph_.calls.nodes()[row].in);
      for (const std::uint32_t edge : Backwards<std::uint32_t>(in)) {
        if (!graph_.calls.edges()[edge].residual) {
          break;
        }
        graph_.calls.SetRemoved(edge, graph_.calls.HasOtherWay(edge));
      }
    }
  }

  const GraphInput& input_;
  bool visual_;
  PprofGraph graph_;
};

}  // namespace

Trimmed BuildTrimmed(const GraphInput& input, bool visual) {
  return Trimmer(input, visual).Run();
}

std::vector<std::uint32_t> SortedEdges(const PprofGraph& graph, const NodeTable& table,
                                       std::vector<std::uint32_t> edges) {
  std::erase_if(edges, [&](std::uint32_t row) { return graph.calls.edges()[row].removed; });
  std::sort(edges.begin(), edges.end(), [&](std::uint32_t a, std::uint32_t b) {
    const CallEdge& left = graph.calls.edges()[a];
    const CallEdge& right = graph.calls.edges()[b];
    if (Abs(left.weight.value) != Abs(right.weight.value)) {
      return Abs(left.weight.value) > Abs(right.weight.value);
    }
    const auto compare = [&](std::uint32_t one, std::uint32_t other) {
      return table.CompareNames(graph.info[one], graph.info[other]);
    };
    if (const int order = compare(left.from, right.from); order != 0) {
      return order < 0;
    }
    const int order = compare(left.to, right.to);
    return order != 0 ? order < 0 : a < b;
  });
  return edges;
}

void SortTags(std::vector<const Tag*>& tags, bool flat) {
  std::sort(tags.begin(), tags.end(), [flat](const Tag* a, const Tag* b) {
    if (!flat && Abs(a->cum.value) != Abs(b->cum.value)) {
      return Abs(a->cum.value) > Abs(b->cum.value);
    }
    if (Abs(a->flat.value) != Abs(b->flat.value)) {
      return Abs(a->flat.value) > Abs(b->flat.value);
    }
    return a->name < b->name;
  });
}

}  // namespace memtool::commands::pprof
