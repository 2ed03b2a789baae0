#include "output/graph/dot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/paths.h"
#include "output/escape.h"
#include "output/graph/cgraph_library.h"
#include "output/text/cpp_names.h"

namespace memtool::commands {

namespace {

// dot gives up on strings of 16 KiB and draws unreadable boxes long before.
constexpr std::size_t kMaxNameLength = 60;
constexpr std::size_t kMaxTooltipLength = 400;
constexpr std::size_t kMaxRowWidth = 6;
// In points; parts of a font's size.
constexpr double kMaxPictureWidth = 2500;
constexpr double kBoxGap = 18;
constexpr double kEdgeLength = 100;  // with the amount next to it
constexpr double kLetterWidth = 0.55;
constexpr double kLineHeight = 1.25;

// cgraph's Agdirected.
constexpr Agdesc_t kDirected = {.directed = 1, .strict = 0, .no_loop = 0, .maingraph = 1};

struct CloseGraph {
  void operator()(Agraph_t* graph) const { cgraph::agclose(graph); }
};
using GraphHandle = std::unique_ptr<Agraph_t, CloseGraph>;

// cgraph keeps lines short by breaking strings with a backslash, and writes its output to a channel
// of ours.
int Append(void* channel, const char* text) {
  static_cast<std::string*>(channel)->append(text);
  return 0;
}
int NoFlush(void* /*channel*/) {
  return 0;
}

// One line of a label: names are bytes, and "\n" in a label is DOT's own line break.
std::string Shown(std::string_view text, std::size_t longest = kMaxNameLength) {
  return EscapeDot(Shorten(EscapeText(text), longest));
}

std::string FormatPercent(std::int64_t value, std::int64_t total) {
  if (total == 0) {
    return "0%";
  }
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(value) / static_cast<double>(total));
}

// pprof's scale: grey near nothing, red for more, green for less; fill is pale.
std::string Color(std::int64_t value, std::int64_t total, bool fill) {
  double x = total == 0 ? 0 : static_cast<double>(value) / std::abs(static_cast<double>(total));
  x = std::clamp(x, -1.0, 1.0);
  double saturation = fill ? 0.1 : 1.0;
  const double brightness = fill ? 0.93 : 0.7;
  if (std::abs(x) < 0.2) {
    saturation *= std::abs(x) / 0.2;
  }
  const double strength = std::copysign(std::pow(std::abs(x), 0.3), x);
  const double red = x < 0 ? brightness * (1 + saturation * strength) : brightness;
  const double green = x < 0 ? brightness : brightness * (1 - saturation * strength);
  const double blue = brightness * (1 - saturation);
  const auto byte = [](double part) { return static_cast<int>(255.0 * part); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(red), byte(green), byte(blue));
}

class DotBuilder {
 public:
  DotBuilder(const Graph& graph, const NodeSpace& space, const DotStyle& style)
      : graph_(graph), space_(space), style_(style), largest_flat_(LargestFlat(graph)) {
    const std::string title = Shown(style.title);
    handle_.reset(cgraph::agopen(Mutable(title), kDirected, &disciplines_));
  }
  DotBuilder(const DotBuilder&) = delete;
  DotBuilder& operator=(const DotBuilder&) = delete;

  Result<std::string> Run() {
    if (handle_ == nullptr) {
      return Fail(ErrorCode::kOutput, "Graphviz cannot build the graph");
    }
    try {
      return Write();
    } catch (const std::bad_alloc&) {
      static_cast<void>(handle_.release());  // half changed, see CgraphMemory()
      throw;
    }
  }

 private:
  std::string Write() {
    Default(AGNODE, "style", "filled");
    Default(AGNODE, "fillcolor", "#f8f8f8");
    Default(AGNODE, "shape", "box");
    Default(AGNODE, "fontname", "Helvetica,Arial,sans-serif");
    Default(AGEDGE, "fontname", "Helvetica,Arial,sans-serif");
    AddLegend();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      AddNode(i);
    }
    for (const GraphEdge& edge : graph_.edges) {
      AddEdge(edge);
    }
    FoldRows();
    if (IsFlat()) {
      cgraph::agattr(handle_.get(), AGRAPH, Mutable("rankdir"), Mutable("LR"));
    }
    std::string text;
    cgraph::agwrite(handle_.get(), &text);
    return text;
  }

  // cgraph's interface is not const-correct; it copies what it is given.
  static char* Mutable(const char* text) { return const_cast<char*>(text); }
  static char* Mutable(const std::string& text) { return Mutable(text.c_str()); }

  void Default(int kind, const char* name, const char* value) {
    cgraph::agattr(handle_.get(), kind, Mutable(name), Mutable(value));
  }
  static void Set(void* object, const char* name, const std::string& value) {
    cgraph::agsafeset(object, Mutable(name), Mutable(value), Mutable(""));
  }

  Agnode_t* Node(const std::string& name) const {
    return cgraph::agnode(handle_.get(), Mutable(name), 1);
  }

  void AddLegend() {
    std::string label;
    for (const std::string& line : style_.legend) {
      label += Shown(line, kMaxTooltipLength) + "\\l";
    }
    Agraph_t* cluster = cgraph::agsubg(handle_.get(), Mutable("cluster_L"), 1);
    Agnode_t* node = cgraph::agnode(cluster, Mutable("legend"), 1);
    Set(node, "label", label);
    Set(node, "fontsize", "16");
    Set(node, "tooltip", Shown(style_.title));
  }

  [[nodiscard]] static std::int64_t LargestFlat(const Graph& graph) {
    std::int64_t largest = 0;
    for (const GraphNode& node : graph.nodes) {
      largest = std::max(largest, Magnitude(node.value.flat));
    }
    return largest;
  }

  void AddNode(std::size_t index) {
    const GraphNode& node = graph_.nodes[index];
    const std::string id = fmt::format("N{}", index + 1);
    const std::string_view name = space_.Name(node.id);
    const std::string_view file = node.place.file;
    const bool cpp = name.find("::") != std::string_view::npos;
    std::string label = Shown(name.empty() ? std::string(file)
                              : cpp        ? NameText(name)
                                           : std::string(name)) +
                        "\\n";
    if (!name.empty() && !file.empty() && file != "??") {
      label += Shown(BaseName(file));
      label += node.place.line > 0 ? fmt::format(":{}", node.place.line) : "";
      label += "\\n";
    }
    const NodeValue& value = node.value;
    label += value.flat == 0 ? "0"
                             : fmt::format("{} ({})", style_.amount(value.flat),
                                           FormatPercent(value.flat, graph_.total));
    if (value.cum != value.flat) {
      label += fmt::format("{}of {} ({})", value.flat == 0 ? " " : "\\n", style_.amount(value.cum),
                           FormatPercent(value.cum, graph_.total));
    }
    const double share = largest_flat_ == 0 ? 0.0
                                            : std::abs(static_cast<double>(value.flat)) /
                                                  static_cast<double>(largest_flat_);
    const int font = 8 + static_cast<int>(std::ceil(16 * std::sqrt(share)));
    boxes_.push_back(MakeBox(label, font));
    Agnode_t* drawn = Node(id);
    Set(drawn, "label", label);
    Set(drawn, "id", fmt::format("node{}", index + 1));
    Set(drawn, "fontsize", fmt::format("{}", font));
    Set(drawn, "color", Color(value.cum, graph_.total, false));
    Set(drawn, "fillcolor", Color(value.cum, graph_.total, true));
    Set(drawn, "tooltip",
        fmt::format("{} {} ({})", Shown(name, kMaxTooltipLength), Shown(file, kMaxTooltipLength),
                    style_.amount(value.cum)));
    AddTags(node, id, drawn);
  }

  // A label that repeats the node's name: a log of tags has no other names.
  static bool Repeats(std::string_view tag, std::string_view name) {
    const std::size_t value = tag.find(':');
    return !name.empty() && value != std::string_view::npos && tag.ends_with(name) &&
           tag[tag.size() - name.size() - 1] == ':' && tag.find('\n') == std::string_view::npos;
  }

  // A label set, one line per label; those that are the same everywhere are in the legend.
  [[nodiscard]] std::string TagLabel(std::string_view rest) const {
    std::string label;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      if (std::find(graph_.common_tags.begin(), graph_.common_tags.end(), line) ==
          graph_.common_tags.end()) {
        label += (label.empty() ? "" : "\\n") + Shown(line);
      }
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return label;
  }

  void AddTags(const GraphNode& node, const std::string& id, Agnode_t* drawn) {
    for (std::size_t t = 0; t < node.tags.size(); ++t) {
      const GraphTag& tag = node.tags[t];
      if (Repeats(tag.text, space_.Name(node.id))) {
        continue;
      }
      const std::string label = TagLabel(tag.text);
      if (label.empty() && !tag.text.empty()) {
        continue;
      }
      boxes_.back().below.push_back(MakeBox(label, 8).size);
      const std::string weight = style_.amount(tag.weight);
      Agnode_t* box = Node(fmt::format("{}_{}", id, t));
      Set(box, "label", label);
      Set(box, "id", fmt::format("{}_{}", id, t));
      Set(box, "shape", "box3d");
      Set(box, "fontsize", "8");
      Set(box, "tooltip", weight);
      Agedge_t* edge = cgraph::agedge(handle_.get(), drawn, box, nullptr, 1);
      Set(edge, "label", " " + weight);
      Set(edge, "weight", "100");
      Set(edge, "tooltip", weight);
    }
  }

  void AddEdge(const GraphEdge& edge) {
    const auto node_id = [](std::uint32_t index) { return fmt::format("N{}", index + 1); };
    Agedge_t* drawn =
        cgraph::agedge(handle_.get(), Node(node_id(edge.from)), Node(node_id(edge.to)), nullptr, 1);
    const std::string weight = style_.amount(edge.weight);
    const double share =
        graph_.total == 0
            ? 0
            : std::abs(static_cast<double>(edge.weight) / static_cast<double>(graph_.total));
    const auto scaled = [share](double most) {
      return 1 + static_cast<int>(std::min(share * most, most));
    };
    Set(drawn, "label", " " + weight);
    Set(drawn, "weight", fmt::format("{}", scaled(100)));
    Set(drawn, "penwidth", fmt::format("{}", scaled(5)));
    Set(drawn, "color", Color(edge.weight, graph_.total, false));
    const auto name = [this](std::uint32_t index) {
      const NodeId id = graph_.nodes[index].id;
      return Shown(space_.Name(id).empty() ? space_.File(id) : space_.Name(id), kMaxTooltipLength);
    };
    Set(drawn, "tooltip",
        fmt::format("{} {} {} ({})", name(edge.from), edge.residual ? "..." : "->", name(edge.to),
                    weight));
    if (edge.residual) {
      Set(drawn, "style", "dotted");
    }
  }

  // Many nodes that call nothing (a log without stacks has only such ones) would, side by side,
  // make a picture several metres wide: they are put in rows below each other, held by edges that
  // are not drawn.
  void FoldRows() {
    constexpr std::uint32_t kNobody = UINT32_MAX;
    std::vector<std::uint32_t> caller(graph_.nodes.size(), kNobody);
    std::vector<char> folds(graph_.nodes.size(), 1);
    for (const GraphEdge& edge : graph_.edges) {
      folds[edge.from] = 0;
      folds[edge.to] = folds[edge.to] != 0 && caller[edge.to] == kNobody ? 1 : 0;
      caller[edge.to] = edge.from;
    }
    std::map<std::uint32_t, std::vector<std::size_t>> rows;  // by who calls them
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (folds[i] != 0) {
        rows[caller[i]].push_back(i);
      }
    }
    for (const auto& [by, row] : rows) {
      const std::size_t wide =
          std::max(kMaxRowWidth,
                   static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(row.size())))));
      for (std::size_t i = wide; i < row.size(); ++i) {
        Agedge_t* held = cgraph::agedge(handle_.get(), Node(fmt::format("N{}", row[i - wide] + 1)),
                                        Node(fmt::format("N{}", row[i] + 1)), nullptr, 1);
        Set(held, "style", "invis");
        held_.emplace_back(row[i - wide], row[i]);
      }
    }
  }

  // The longest distance of each node from one that nobody calls, as dot computes it. A cycle is
  // entered at its first node.
  [[nodiscard]] std::vector<std::size_t> Levels() const {
    std::vector<std::vector<std::size_t>> next(boxes_.size());
    std::vector<std::size_t> callers(boxes_.size(), 0);
    const auto add = [&](std::size_t from, std::size_t to) {
      next[from].push_back(to);
      ++callers[to];
    };
    for (const GraphEdge& edge : graph_.edges) {
      add(edge.from, edge.to);
    }
    for (const auto& [from, to] : held_) {
      add(from, to);
    }
    std::vector<std::size_t> levels(boxes_.size(), 0);
    std::vector<char> queued(boxes_.size(), 0);
    std::vector<std::size_t> order;
    const auto queue = [&](std::size_t node) {
      if (queued[node] == 0) {
        queued[node] = 1;
        order.push_back(node);
      }
    };
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (callers[i] == 0) {
        queue(i);
      }
    }
    for (std::size_t at = 0, first = 0; at < boxes_.size(); ++at) {
      for (; at == order.size(); ++first) {
        queue(first);
      }
      for (const std::size_t to : next[order[at]]) {
        levels[to] = queued[to] == 0 ? std::max(levels[to], levels[order[at]] + 1) : levels[to];
        if (--callers[to] == 0) {
          queue(to);
        }
      }
    }
    return levels;
  }

  // Whether a picture from top to bottom would be far wider than a screen, and one from left to
  // right smaller. Uses rough sizes of the boxes: dot knows better, but only when it is done.
  [[nodiscard]] bool IsFlat() const {
    struct Level {
      Size sum;  // of what is side by side
      double widest = 0;
    };
    const std::vector<std::size_t> levels = Levels();
    std::map<std::size_t, Level> rows;
    const auto add = [&rows](std::size_t number, const Size& size) {
      Level& level = rows[number];
      level.sum.width += size.width + kBoxGap;
      level.sum.height += size.height + kBoxGap;
      level.widest = std::max(level.widest, size.width);
    };
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      add(levels[i], boxes_[i].size);
      for (const Size& tag : boxes_[i].below) {
        add(levels[i] + 1, tag);
      }
    }
    Size most;
    double turned = 0;
    for (const auto& [number, level] : rows) {
      most.width = std::max(most.width, level.sum.width);
      most.height = std::max(most.height, level.sum.height);
      turned += level.widest + kEdgeLength;
    }
    return most.width > kMaxPictureWidth && std::max(most.height, turned) < most.width / 2;
  }

  struct Size {  // in points
    double width = 0;
    double height = 0;
  };
  struct Box {
    Size size;
    std::vector<Size> below;  // its labels
  };
  static Box MakeBox(std::string_view label, int font) {
    std::size_t longest = 0;
    std::size_t lines = 1;
    for (std::size_t end = 0; end != std::string_view::npos; ++lines) {
      end = label.find("\\n");
      longest = std::max(longest, DisplayWidth(label.substr(0, end)));
      label.remove_prefix(end == std::string_view::npos ? label.size() : end + 2);
    }
    return {.size = {.width = static_cast<double>(longest) * font * kLetterWidth + kBoxGap,
                     .height = static_cast<double>(lines) * font * kLineHeight},
            .below = {}};
  }

  const Graph& graph_;
  const NodeSpace& space_;
  const DotStyle& style_;
  std::int64_t largest_flat_;
  Agiodisc_t io_{nullptr, Append, NoFlush};
  Agmemdisc_t memory_ = CgraphMemory();
  Agdisc_t disciplines_{&memory_, nullptr, &io_};  // its own ids
  GraphHandle handle_;
  std::vector<Box> boxes_;                                 // of the nodes
  std::vector<std::pair<std::size_t, std::size_t>> held_;  // edges that are not drawn
};

}  // namespace

Result<std::string> WriteDot(const Graph& graph, const NodeSpace& space, const DotStyle& style) {
  const auto lock = LockCgraph();
  MEMTOOL_TRY(lock);
  return DotBuilder(graph, space, style).Run();
}

}  // namespace memtool::commands
