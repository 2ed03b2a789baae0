// -dot: the graph for Graphviz, with pprof's sizes, colours and texts.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "pprof/measure.h"
#include "pprof/report.h"
#include "pprof/text/go_text.h"

namespace memtool::commands::pprof {

namespace {

constexpr std::size_t kTagsPerNode = 4;

// Red for much, grey for nothing, green for less than nothing.
std::string Color(double score, bool background) {
  double saturation = background ? 0.1 : 1.0;
  const double value = background ? 0.93 : 0.7;
  score = std::max(-1.0, std::min(1.0, score));
  if (std::fabs(score) < 0.2) {
    saturation *= std::fabs(score) / 0.2;
  }
  constexpr double kPower = 0.3;  // moves scores away from grey
  if (score > 0) {
    score = std::pow(score, kPower);
  } else if (score < 0) {
    score = -std::pow(-score, kPower);
  }
  const double weaker = value * (1 - saturation * std::fabs(score));
  const auto byte = [](double part) { return static_cast<unsigned>(part * 255.0); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(score < 0 ? weaker : value),
                     byte(score < 0 ? value : weaker), byte(value * (1 - saturation)));
}

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// C++ namespaces, Java packages and Go paths are left out.
std::string ShortName(std::string name) {
  static const RE2 anonymous(R"(^\(anonymous namespace\)::)");
  static const RE2 go_version(R"(^(.*?)/v(?:[2-9]|[1-9][0-9]+)([./].*)$)");
  static const std::array<RE2, 3> tails{
      RE2(R"(^(?:[\w\-\.]+\/)+(.+))"),
      RE2(R"(^(?:[a-z]\w*\.)*([A-Z][\w\$]*\.(?:<init>|[a-z][\w\$]*(?:\$\d+)?))(?:(?:\()|$))"),
      RE2(R"(^(?:[_a-zA-Z]\w*::)+(_*[A-Z]\w*::~?[_a-zA-Z]\w*(?:<.*>)?))")};
  RE2::Replace(&name, anonymous, "");
  RE2::Replace(&name, go_version, R"(\1\2)");
  for (const RE2& tail : tails) {
    if (std::string found; RE2::PartialMatch(name, tail, &found)) {
      return found;
    }
  }
  return name;
}

// Graphviz reads no string of more than 16,384 bytes, and a tooltip holds two names.
constexpr std::size_t kMaxNameLength = 1500;
constexpr std::size_t kMaxLegendLength = 12000;

std::string Cut(const std::string& text) {
  const std::string_view head = FirstCodePoints(text, kMaxNameLength);
  return head.size() == text.size() ? text : std::string(head) + "…";
}

std::string Quoted(std::string_view name) {
  return QuoteDot(Cut(Shown(name)));
}

// One line per part of the name.
std::string NodeLabel(const NodeTable& table, const NodeInfo& info) {
  std::string out;
  if (info.address != 0) {
    out += fmt::format("{:016x}\\n", info.address);
  }
  if (info.name.value() != 0) {
    std::string name = Quoted(ShortName(std::string(table.Text(info.name))));
    name = Replace(std::move(name), "::", "\\n");
    name = Replace(std::move(name), "[...]", "[…]");
    out += Replace(std::move(name), ".", "\\n") + "\\n";
  }
  const std::string_view path = table.Text(info.file);
  const std::string file = path.empty() ? "" : Quoted(BasePath(path));
  if (info.line != 0) {
    out += fmt::format("{}:{}\\n", file, info.line);
  } else if (!file.empty()) {
    out += file + "\\n";
  } else if (info.name.value() == 0) {
    out += info.binary.value() != 0 ? "[" + Quoted(BasePath(table.Text(info.binary))) + "]\\n"
                                    : "<unknown>\\n";
  }
  return out;
}

double Distance(const Tag& a, const Tag& b) {
  return std::fabs(ConvertUnit(b.number, b.unit, a.unit).value - static_cast<double>(a.number));
}

// "64kB..1MB" for several, with the sums of all.
Tag TagGroup(const std::vector<const Tag*>& tags) {
  const Tag* smallest = tags[0];
  const Tag* largest = tags[0];
  Tag group{.name = ScaledLabel(tags[0]->number, tags[0]->unit, "auto")};
  for (const Tag* tag : tags) {
    Add(group.flat, tag->flat);
    Add(group.cum, tag->cum);
    if (ToInt(ConvertUnit(tag->number, tag->unit, smallest->unit).value) < smallest->number) {
      smallest = tag;
    }
    if (ToInt(ConvertUnit(tag->number, tag->unit, largest->unit).value) > largest->number) {
      largest = tag;
    }
  }
  group.flat = {Mean(group.flat), 0};
  group.cum = {Mean(group.cum), 0};
  if (tags.size() > 1) {
    group.name = ScaledLabel(smallest->number, smallest->unit, "auto") + ".." +
                 ScaledLabel(largest->number, largest->unit, "auto");
  }
  return group;
}

// At most four: the rest joins the nearest of the heaviest.
std::vector<Tag> Collapse(std::vector<const Tag*> tags, bool flat) {
  SortTags(tags, flat);
  std::vector<Tag> groups;
  groups.reserve(std::max(tags.size(), kTagsPerNode));
  if (tags.size() <= kTagsPerNode) {
    for (const Tag* tag : tags) {
      groups.push_back(*tag);
    }
    return groups;
  }
  std::array<std::vector<const Tag*>, kTagsPerNode> members;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    std::size_t nearest = std::min(i, kTagsPerNode - 1);
    if (i >= kTagsPerNode) {
      nearest = 0;
      for (std::size_t g = 1; g < kTagsPerNode; ++g) {
        if (Distance(*tags[i], *tags[g]) < Distance(*tags[i], *tags[nearest])) {
          nearest = g;
        }
      }
    }
    members[nearest].push_back(tags[i]);
  }
  for (const auto& group : members) {
    groups.push_back(TagGroup(group));
  }
  std::vector<const Tag*> order;
  order.reserve(groups.size());
  for (const Tag& group : groups) {
    order.push_back(&group);
  }
  SortTags(order, flat);
  std::vector<Tag> sorted;
  sorted.reserve(order.size());
  for (const Tag* group : order) {
    sorted.push_back(*group);
  }
  return sorted;
}

class DotReport {
 public:
  explicit DotReport(PprofReport& report)
      : report_(report), report_graph_(MakeGraph(report, true)) {}

  std::string Run() {
    const PprofGraph& graph = report_graph_.graph();
    const std::string title = Quoted(report_.title);
    out_ = fmt::format("digraph \"{}\" {{\nnode [style=filled fillcolor=\"#f8f8f8\"]\n",
                       title.empty() ? "unnamed" : title);
    AddLegend(title);
    numbers_.assign(graph.calls.nodes().size(), 0);
    with_tags_.assign(graph.calls.nodes().size(), 0);
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < graph.shown.size(); ++i) {
      numbers_[graph.shown[i]] = i + 1;
      largest = std::max(largest, Abs(Mean(graph.calls.nodes()[graph.shown[i]].flat)));
    }
    std::vector<std::uint32_t> edges;
    for (const std::uint32_t row : graph.shown) {
      AddNode(row, static_cast<double>(largest));
      AddTags(row);
      for (const std::uint32_t edge : graph.calls.nodes()[row].out) {
        // pprof also draws edges to nodes that it left out, as edges to a node "N0".
        if (!graph.calls.edges()[edge].removed && numbers_[graph.calls.edges()[edge].to] != 0) {
          edges.push_back(edge);
        }
      }
    }
    for (const std::uint32_t edge : SortedEdges(graph, *report_graph_.table, std::move(edges))) {
      AddEdge(graph.calls.edges()[edge]);
    }
    return out_ + "}\n";
  }

 private:
  void AddLegend(const std::string& title) {
    std::vector<std::string> labels = ReportLabels(report_, report_graph_, true);
    std::size_t size = 0;
    for (std::string& label : labels) {
      label = QuoteDot(Cut(label));
      size += label.size();
      label = size > kMaxLegendLength ? "…" : label;
    }
    out_ += fmt::format(
        "subgraph cluster_L {{ \"{}\" [shape=box fontsize=16 label=\"{}\\l\"{}] }}\n", labels[0],
        fmt::join(labels, "\\l"), title.empty() ? "" : fmt::format(" tooltip=\"{}\"", title));
  }

  [[nodiscard]] double Score(std::int64_t value) const {
    return static_cast<double>(value) / static_cast<double>(Abs(report_.total));
  }

  void AddNode(std::uint32_t row, double largest) {
    const CallNode& node = report_graph_.graph().calls.nodes()[row];
    const std::int64_t flat = Mean(node.flat);
    const std::int64_t cum = Mean(node.cum);
    std::string label =
        NodeLabel(*report_graph_.table, (*report_graph_.table)[report_graph_.graph().info[row]]);
    const std::string flat_text = report_.Value(flat);
    label +=
        flat == 0 ? "0" : fmt::format("{} ({})", flat_text, TrimmedPercentage(flat, report_.total));
    std::string cum_text = flat_text;
    if (cum != flat) {
      cum_text = report_.Value(cum);
      label += fmt::format("{}of {} ({})", flat != 0 ? "\\n" : " ", cum_text,
                           TrimmedPercentage(cum, report_.total));
    }
    int font = 8;
    if (largest != 0 && flat != 0) {
      font +=
          static_cast<int>(std::ceil(16.0 * std::sqrt(static_cast<double>(Abs(flat)) / largest)));
    }
    out_ += fmt::format(
        "N{0} [label=\"{1}\" id=\"node{0}\" fontsize={2} shape=box tooltip=\"{3} ({4})\" "
        "color=\"{5}\" fillcolor=\"{6}\"]\n",
        numbers_[row], label, font, Quoted(report_graph_.Name(row)), cum_text,
        Color(Score(cum), false), Color(Score(cum), true));
  }

  // The boxes attached to a node: text labels, each with its numbers, then the numbers of samples
  // without text labels. Leaves also show what was cut off below them.
  void AddTags(std::uint32_t row) {
    const PprofGraph& graph = report_graph_.graph();
    const NodeTags& tags = graph.tags[row];
    const auto& out = graph.calls.nodes()[row].out;
    const bool flat = std::any_of(out.begin(), out.end(),
                                  [&](std::uint32_t e) { return !graph.calls.edges()[e].removed; });
    std::vector<const Tag*> texts;
    for (const auto& [name, tag] : tags.texts) {
      texts.push_back(&tag);
    }
    SortTags(texts, flat);
    texts.resize(std::min(texts.size(), kTagsPerNode));
    const std::size_t before = out_.size();
    const std::size_t number = numbers_[row];
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::int64_t weight = flat ? Mean(texts[i]->flat) : Mean(texts[i]->cum);
      if (weight == 0) {
        continue;
      }
      AddBox(fmt::format("N{}", number), fmt::format("N{}_{}", number, i), TagText(texts[i]->name),
             report_.Value(weight), "");
      AddNumbers(tags, texts[i]->name, flat, fmt::format("N{}_{}", number, i));
    }
    AddNumbers(tags, "", flat, fmt::format("N{}", number));
    with_tags_[row] = out_.size() != before ? 1 : 0;
  }

  void AddNumbers(const NodeTags& tags, const std::string& text, bool flat,
                  const std::string& source) {
    const auto found = tags.numbers.find(text);
    if (found == tags.numbers.end()) {
      return;
    }
    std::vector<const Tag*> numbers;
    for (const auto& [name, tag] : found->second) {
      numbers.push_back(&tag);
    }
    const std::vector<Tag> groups = Collapse(std::move(numbers), flat);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::int64_t own = Mean(groups[i].flat);
      const std::int64_t all = Mean(groups[i].cum);
      const bool solid = flat || own == all;
      if ((solid ? own : all) != 0) {
        AddBox(source, fmt::format("N{}_{}", source, i), Quoted(groups[i].name),
               report_.Value(solid ? own : all), solid ? "" : " style=\"dotted\"");
      }
    }
  }

  void AddBox(const std::string& from, const std::string& id, const std::string& label,
              const std::string& weight, std::string_view style) {
    out_ += fmt::format("{0} [label = \"{1}\" id=\"{0}\" fontsize=8 shape=box3d tooltip=\"{2}\"]\n",
                        id, label, weight);
    out_ +=
        fmt::format("{} -> {} [label=\" {}\" weight=100 tooltip=\"{}\" labeltooltip=\"{}\"{}]\n",
                    from, id, weight, weight, weight, style);
  }

  // The "\n" between labels is pprof's own; what is in them is quoted.
  static std::string TagText(std::string_view joined) {
    std::string out;
    joined = FirstCodePoints(joined, kMaxNameLength);
    while (true) {
      const std::size_t end = joined.find("\\n");
      out += Quoted(joined.substr(0, end));
      if (end == std::string_view::npos) {
        return out;
      }
      out += "\\n";
      joined.remove_prefix(end + 2);
    }
  }

  void AddEdge(const CallEdge& edge) {
    const std::int64_t weight = Mean(edge.weight);
    const std::string text = report_.Value(weight);
    std::string attributes =
        fmt::format("label=\" {}{}\"", text, edge.inlined ? "\\n (inline)" : "");
    if (report_.total != 0) {
      const auto part = [&](std::int64_t scale) {
        const auto product = static_cast<std::int64_t>(static_cast<std::uint64_t>(weight) *
                                                       static_cast<std::uint64_t>(scale));
        return 1 + std::min(Abs(Quotient(product, report_.total)), scale);
      };
      if (part(100) > 1) {
        attributes += fmt::format(" weight={}", part(100));
      }
      if (part(5) > 1) {
        attributes += fmt::format(" penwidth={}", part(5));
      }
      attributes += fmt::format(" color=\"{}\"", Color(Score(weight), false));
    }
    const std::string tooltip =
        fmt::format("\"{} {} {} ({})\"", Quoted(report_graph_.Name(edge.from)),
                    edge.residual ? "..." : "->", Quoted(report_graph_.Name(edge.to)), text);
    out_ += fmt::format("N{} -> N{} [{} tooltip={} labeltooltip={}{}{}]\n", numbers_[edge.from],
                        numbers_[edge.to], attributes, tooltip, tooltip,
                        edge.residual ? " style=\"dotted\"" : "",
                        with_tags_[edge.from] != 0 ? " minlen=2" : "");
  }

  PprofReport& report_;
  GraphReport report_graph_;
  std::string out_;
  std::vector<std::size_t> numbers_;  // per node: its number from 1, 0 = not shown
  std::vector<char> with_tags_;
};

}  // namespace

std::string WriteGraph(PprofReport& report) {
  return DotReport(report).Run();
}

}  // namespace memtool::commands::pprof
