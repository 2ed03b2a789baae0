// memtool dot, memtool svg and memtool web: the call graph.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <new>
#include <span>
#include <string_view>

#include "base/command.h"
#include "memtool/profile/answers/graph.h"
#include "memtool/profile/base/result.h"
#include "options/input_options.h"
#include "options/view_options.h"
#include "output/graph/browser.h"
#include "output/graph/dot_writer.h"
#include "output/graph/layout.h"
#include "output/plot/plot.h"
#include "output/whole_file.h"
#include "rows/rows.h"
#include "session/input_reader.h"
#include "session/programs.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

constexpr std::chrono::seconds kLayoutLimit{20};

class GraphCommand : public Command {
 public:
  enum class Kind { kText, kPicture, kBrowser };
  explicit GraphCommand(Kind kind)
      : picture_(kind != Kind::kText), browser_(kind == Kind::kBrowser) {}

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    view_.Declare(options, ByOption{});
    po::options_description group("Graph");
    auto add = group.add_options();
    add("by", ToValue(&by_text_, ByWords(Rows::kFrames))->value_name("WHAT"),
        "nodes: function, filefunction (default), line, file or module");
    add("diff-base", po::value(&bases_)->value_name("FILE"), "subtract this input");
    view_.DeclareBase(group);
    add("nodecount", po::value(&graph_.node_count)->value_name("N"),
        "at most N nodes, 0 = all (default 80)");
    add("edgecount", po::value(&graph_.edge_count)->value_name("N"),
        "at most N edges, 0 = all (default 300)");
    add("nodefraction", po::value(&graph_.node_fraction)->value_name("F"),
        "leave out nodes below this part of the total (default 0.005)");
    add("edgefraction", po::value(&graph_.edge_fraction)->value_name("F"),
        "leave out edges below this part of the total (default 0.001)");
    add("output,o", po::value(&output_)->value_name("FILE"),
        picture_ ? "write to FILE; .svg, .png or .pdf chooses the form"
                 : "write to FILE; .svg, .png and .pdf are laid out first");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), view_.Resolve(), ResolveNodes()}) {
      MEMTOOL_TRY(resolved);
    }
    if (auto code = view_.PrintInstead(streams)) {
      return *std::move(code);
    }
    // An input that is about to be overwritten is reported as such.
    const bool ending = std::filesystem::path(output_).has_extension();
    if (picture_ && ending && !streams.inputs.Has(output_)) {
      MEMTOOL_TRY(ToPlotFormat(output_, "--output"));
    }
    auto sides = GetSides(input_, bases_, false, streams);
    MEMTOOL_TRY(sides);
    bases_ = sides->bases;
    InputReader input_reader(input_, streams);
    const std::vector<std::string> all = sides->BasesFirst();
    auto loaded = SelectAll(input_reader, all, view_, bases_.size());
    MEMTOOL_TRY(loaded);
    if (!bases_.empty() && loaded->size() != all.size()) {
      return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
    }
    const auto middle = loaded->begin() + static_cast<std::ptrdiff_t>(bases_.size());
    std::vector<Selection> inputs(std::make_move_iterator(middle),
                                  std::make_move_iterator(loaded->end()));
    loaded->erase(middle, loaded->end());
    GraphAnswer answer = MakeGraph(*loaded, inputs, graph_);
    answer.head = input_reader.Head("graph");
    input_reader.Finish();
    MEMTOOL_TRY(Write(input_reader, answer, streams));
    return input_reader.exit_code();
  }

 private:
  Result<void> ResolveNodes() {
    auto by = ParseBy(by_text_);
    MEMTOOL_TRY(by);
    if (by->kind != By::Kind::kFrame) {
      return Fail(ErrorCode::kUsage, "--by: a graph cannot have '" + by_text_ + "' as nodes",
                  "function, filefunction, line, file or module");
    }
    graph_.granularity = by->granularity;
    return {};
  }

  // "svg" for "x.svg"; empty when the text itself is wanted.
  [[nodiscard]] std::string PictureFormat() const {
    for (const char* format : {"svg", "png", "pdf"}) {
      if (output_.ends_with(std::string(".") + format)) {
        return format;
      }
    }
    return picture_ ? "svg" : "";
  }

  Result<void> Write(const InputReader& input_reader, const GraphAnswer& answer,
                     Streams& streams) const {
    const DotStyle style{
        .title = Title(input_reader),
        .legend = Legend(input_reader, answer),
        .amount =
            [&](std::int64_t value) { return AmountText(input_reader, value, answer.difference); },
        .difference = answer.difference};
    auto text = WriteDot(answer.graph, answer.names, style);
    MEMTOOL_TRY(text);
    const std::string format = PictureFormat();
    if (!format.empty()) {
      text = LayOut(*text, format, kLayoutLimit);
      MEMTOOL_TRY(text);
    }
    return browser_ ? Show(*text, streams) : WriteWholeFile(output_, *text, streams);
  }

  // Opens a browser when there is one; else says where the picture is.
  Result<void> Show(const std::string& picture, Streams& streams) const {
    if (output_ != "-") {
      MEMTOOL_TRY(WriteWholeFile(output_, picture, streams));
      Open(output_, streams);
      return {};
    }
    const auto made = WriteTemporary(".svg", picture);
    MEMTOOL_TRY(made);
    try {
      Open(*made, streams);
    } catch (const std::bad_alloc&) {
      ::unlink(made->c_str());  // nobody knows of it
      throw;
    }
    return {};
  }
  static void Open(const std::string& path, Streams& streams) {
    const std::string browser = OpenInBrowser(path);
    streams.out.Write(VisibleText(path).EndLine());
    if (browser.empty()) {
      Warn(streams, "found no browser to open; the picture is in the file above");
    }
  }

  [[nodiscard]] std::string Title(const InputReader& input_reader) const {
    const std::string& path = input_reader.notes()[bases_.size()].path;
    return path.substr(path.rfind('/') + 1);
  }

  // What is not drawn, and the options that bring it back: "80 of 97 nodes shown; left out: 17 more
  // (--nodecount 0)". `count`: of a reason; those without any are not named.
  struct LeftOut {
    std::size_t count = 0;
    std::string why;
  };
  [[nodiscard]] static std::string ShownText(std::size_t shown, std::size_t all,
                                             std::string_view what,
                                             std::span<const LeftOut> left_out) {
    std::string list;
    for (const LeftOut& each : left_out) {
      if (each.count > 0) {
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", each.count, each.why);
      }
    }
    return fmt::format("{} of {} {} shown; left out: {}", shown, all, what, list);
  }

  [[nodiscard]] static std::string NodesText(const InputReader& input_reader, const Graph& graph) {
    const std::size_t over = graph.nodes_all - graph.nodes_small - graph.nodes.size();
    const std::array<LeftOut, 2> left_out{
        {{graph.nodes_small,
          fmt::format("below {} (--nodefraction 0)", AmountText(input_reader, graph.node_cutoff))},
         {over, "more (--nodecount 0)"}}};
    return ShownText(graph.nodes.size(), graph.nodes_all, "nodes", left_out);
  }

  [[nodiscard]] static std::string EdgesText(const InputReader& input_reader, const Graph& graph) {
    const std::size_t over =
        graph.edges_all - graph.edges_small - graph.edges_redundant - graph.edges.size();
    const std::array<LeftOut, 3> left_out{
        {{graph.edges_small,
          fmt::format("below {} (--edgefraction 0)", AmountText(input_reader, graph.edge_cutoff))},
         {graph.edges_redundant, "between nodes that others join (--edgecount 0)"},
         {over, "more (--edgecount 0)"}}};
    return ShownText(graph.edges.size(), graph.edges_all, "edges", left_out);
  }

  [[nodiscard]] std::vector<std::string> Legend(const InputReader& input_reader,
                                                const GraphAnswer& answer) const {
    const Graph& graph = answer.graph;
    std::vector<std::string> legend{InputsText(input_reader)};
    const double percent = 100.0 * answer.shown_share;
    if (!answer.difference) {
      legend.push_back(fmt::format("{}: {} of {} ({:.1f}%) in the nodes shown",
                                   input_reader.type_word(), AmountText(input_reader, graph.shown),
                                   AmountText(input_reader, graph.total), percent));
    } else {
      legend[0] = fmt::format("{} minus {}", input_reader.notes()[bases_.size()].path,
                              input_reader.notes()[0].path);
      legend.push_back(fmt::format("{}: {} ({:+.1f}% of the base's {}) in the nodes shown",
                                   input_reader.type_word(),
                                   AmountText(input_reader, graph.shown, true), percent,
                                   AmountText(input_reader, graph.total)));
      legend.emplace_back("red: more than the base, green: less");
    }
    if (answer.nodes_left_out() > 0) {
      legend.push_back(NodesText(input_reader, graph));
    }
    if (answer.edges_left_out() > 0) {
      legend.push_back(EdgesText(input_reader, graph));
    }
    if (!graph.common_tags.empty()) {
      legend.push_back(fmt::format("all of it: {}", fmt::join(graph.common_tags, " · ")));
    }
    if (graph.without_stack != 0) {
      legend.push_back("without a stack: " + AmountText(input_reader, graph.without_stack));
    }
    const auto& moments = input_reader.moment_lines();
    legend.insert(legend.end(), moments.begin(), moments.end());
    if (const std::string filters = view_.Describe(); !filters.empty()) {
      legend.push_back("filters: " + filters);
    }
    return legend;
  }

  bool picture_;
  bool browser_;
  InputOptions input_;
  ViewOptions view_;
  GraphOptions graph_;
  std::string by_text_ = "filefunction";
  std::vector<std::string> bases_;
  std::string output_ = "-";
};

class DotCommand final : public GraphCommand {
 public:
  DotCommand() : GraphCommand(Kind::kText) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool dot memory9.prof | dot -Tsvg > graph.svg\n"
                "memtool dot -o graph.svg memory9.prof\n"
                "memtool dot --diff-base memory1.prof memory9.prof | dot -Tsvg"};
  }
};

class SvgCommand final : public GraphCommand {
 public:
  SvgCommand() : GraphCommand(Kind::kPicture) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool svg memory9.prof > graph.svg\n"
                "memtool svg -o graph.png memory9.prof\n"
                "memtool svg --nodecount 30 --focus train -o graph.pdf memory9.prof"};
  }
};

class WebCommand final : public GraphCommand {
 public:
  WebCommand() : GraphCommand(Kind::kBrowser) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool web memory9.prof\n"
                "memtool web --diff-base memory1.prof memory9.prof"};
  }
};

}  // namespace

std::unique_ptr<Command> MakeDot() {
  return std::make_unique<DotCommand>();
}
std::unique_ptr<Command> MakeSvg() {
  return std::make_unique<SvgCommand>();
}

std::unique_ptr<Command> MakeWeb() {
  return std::make_unique<WebCommand>();
}

}  // namespace memtool::commands
