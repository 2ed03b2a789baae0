// memtool tree and memtool peek: functions between their callers and callees.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <tuple>

#include "command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/graph.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

double Ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

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

class TreeCommand : public RowsCommand {
 public:
  explicit TreeCommand(bool peek) : RowsCommand(kByRows), peek_(peek) {}

 private:
  Result<void> ResolveMore() override {
    if (view().by().kind != By::Kind::kFrame) {
      return Fail(ErrorCode::kUsage, "--by: callers and callees need frames",
                  "function, filefunction, line, file or module");
    }
    auto regex = TakeRegex();
    MEMTOOL_TRY(regex);
    regex_ = *std::move(regex);
    return {};
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    auto loaded = SelectAll(session, names, view());
    MEMTOOL_TRY(loaded);
    std::vector<SignedInput> inputs;
    for (const Selection& input : *loaded) {
      inputs.push_back({InputOf(input), 1});
    }
    NodeSpace space;
    // Everything: what is printed is chosen by rank below, not by what a picture holds.
    const Graph graph = BuildGraph(inputs,
                                   {.granularity = view().by().granularity,
                                    .node_count = 0,
                                    .edge_count = 0,
                                    .node_fraction = 0,
                                    .edge_fraction = 0},
                                   space);
    return Describe(session, graph, space);
  }

  ExitCode AfterPrint(Streams& streams) override {
    if (peek_ && !matched_) {
      Warn(streams, "no function matches '" + pattern_ + "'");
    }
    return ExitCode::kOk;
  }

  // The first plain argument of peek is its expression.
  Result<std::unique_ptr<RE2>> TakeRegex() {
    if (!peek_) {
      return nullptr;
    }
    auto first = input().TakeFirst();
    if (!first) {
      return Fail(ErrorCode::kUsage, "peek needs a regular expression",
                  "memtool peek anotherfunc memory9.prof");
    }
    pattern_ = *std::move(first);
    auto regex = std::make_unique<RE2>(pattern_, RE2::Quiet);
    if (!regex->ok()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("'{}' is not a regular expression: {}", pattern_, regex->error()));
    }
    return regex;
  }

  // Nodes by size, ties by the other size and by name; all of them for peek, else as many as asked.
  std::vector<std::uint32_t> Ranked(const Graph& graph, const NodeSpace& space) const {
    std::vector<std::uint32_t> ranked;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      const std::string_view name = space.Name(graph.nodes[i].id);
      if (regex_ == nullptr || RE2::PartialMatch({name.data(), name.size()}, *regex_)) {
        ranked.push_back(i);
      }
    }
    const bool by_cum = view().sort() == SortBy::kCum;
    std::sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto key = [&](std::uint32_t i) {
        const NodeValue& value = graph.nodes[i].value;
        const std::int64_t first = Magnitude(by_cum ? value.cum : value.flat);
        const std::int64_t second = Magnitude(by_cum ? value.flat : value.cum);
        return std::tuple(-first, -second, space.Name(graph.nodes[i].id),
                          space.File(graph.nodes[i].id));
      };
      return key(a) < key(b);
    });
    if (!peek_ && output().limit() > 0 && ranked.size() > output().limit()) {
      ranked.resize(output().limit());
    }
    return ranked;
  }

  Report Describe(const Session& session, const Graph& graph, const NodeSpace& space) {
    Report report{.command = peek_ ? "peek" : "tree"};
    session.Describe(report);
    report.columns = {{"flat", "FLAT"},
                      {.key = "", .title = "FLAT%", .drop = 2},
                      {"cum", "CUM"},
                      {.key = "", .title = "CUM%", .drop = 3},
                      {"weight", "FLOWS"},
                      {"relation", ""},
                      {"node", ""},
                      {"name", ""},
                      {"", "WHERE", true, true},
                      {"", "PLACE", true, true},
                      {"file", ""}};
    const Neighbours neighbours(graph);
    const std::vector<std::uint32_t> ranked = Ranked(graph, space);
    for (const std::uint32_t node : ranked) {
      const Block block{session, graph, space, node};
      report.blocks.push_back(report.rows.size());
      for (const Neighbour& caller : neighbours.callers[node]) {
        AddNeighbour(block, caller, true, report);
      }
      AddNode(block, report);
      for (const Neighbour& callee : neighbours.callees[node]) {
        AddNeighbour(block, callee, false, report);
      }
    }
    report.totals = {{"total", graph.total}, {"nodes", static_cast<std::int64_t>(graph.nodes_all)}};
    report.head =
        Head(session, fmt::format("{} · {} {}", InputsText(session), session.choice().name,
                                  AmountText(session, graph.total)));
    report.head.emplace_back(
        "← who calls a function, and what flows through that call; → whom it calls");
    matched_ = !ranked.empty();
    if (!peek_ && ranked.size() < graph.nodes_all) {
      report.foot.push_back(
          fmt::format("… {} more functions (-n 0 shows all)",
                      FormatCount(static_cast<std::int64_t>(graph.nodes_all - ranked.size()))));
    }
    return report;
  }

  static std::string NodeName(const Graph& graph, const NodeSpace& space, std::uint32_t node) {
    const std::string_view name = space.Name(graph.nodes[node].id);
    return std::string(name.empty() ? space.File(graph.nodes[node].id) : name);
  }

  // Where rows of the block of one node come from.
  struct Block {
    const Session& session;
    const Graph& graph;
    const NodeSpace& space;
    std::uint32_t node;
  };

  static void AddNode(const Block& block, Report& report) {
    const GraphNode& node = block.graph.nodes[block.node];
    const std::int64_t total = block.graph.total;
    const std::string name = NodeName(block.graph, block.space, block.node);
    report.rows.push_back(
        {MakeAmount(block.session, node.value.flat), Percent{Ratio(node.value.flat, total)},
         MakeAmount(block.session, node.value.cum), Percent{Ratio(node.value.cum, total)}, Cell(),
         std::string("self"), name, name, NameText(name),
         PlaceText(node.place.file, node.place.line), node.place.file});
  }

  static void AddNeighbour(const Block& block, const Neighbour& neighbour, bool caller,
                           Report& report) {
    const Place& place = block.graph.nodes[neighbour.node].place;
    const std::string name = NodeName(block.graph, block.space, neighbour.node);
    report.rows.push_back(
        {Cell(), Cell(), Cell(), Cell(), MakeAmount(block.session, neighbour.weight),
         std::string(caller ? "caller" : "callee"), NodeName(block.graph, block.space, block.node),
         name, (caller ? "  ← " : "  → ") + NameText(name), PlaceText(place.file, place.line),
         place.file});
  }

  bool peek_;
  bool matched_ = false;
  std::string pattern_;
  std::unique_ptr<RE2> regex_;
};

class Tree final : public TreeCommand {
 public:
  Tree() : TreeCommand(false) {}
  [[nodiscard]] Doc doc() const override {
    return {.summary = "each function between its callers and callees",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool tree memory9.prof\n"
                "memtool tree --cum -n 5 --frames all memory9.prof"};
  }
};

class Peek final : public TreeCommand {
 public:
  Peek() : TreeCommand(true) {}
  [[nodiscard]] Doc doc() const override {
    return {.summary = "callers and callees of the functions that match",
            .usage = "[options] REGEX [FILE...]",
            .examples =
                "memtool peek anotherfunc memory9.prof\n"
                "memtool peek --frames all '^normal$' memory9.prof"};
  }
};

}  // namespace

std::unique_ptr<Command> MakeTree() {
  return std::make_unique<Tree>();
}
std::unique_ptr<Command> MakePeek() {
  return std::make_unique<Peek>();
}

}  // namespace memtool::commands
