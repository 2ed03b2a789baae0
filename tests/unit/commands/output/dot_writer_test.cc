#include "output/graph/dot_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphviz/cgraph.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "output/escape.h"
#include "support/files.h"

namespace memtool::commands {
namespace {

struct CloseGraph {
  void operator()(Agraph_t* graph) const { ::agclose(graph); }
};
using Handle = std::unique_ptr<Agraph_t, CloseGraph>;

std::string Get(void* object, const char* name) {
  const char* value = ::agget(object, const_cast<char*>(name));
  return value == nullptr ? "" : value;
}

// A graph of one node per name, in a chain.
std::string Written(const std::vector<std::string>& names, NodeSpace& space) {
  Graph graph;
  graph.total = 1000;
  for (const std::string& name : names) {
    GraphNode& node = graph.nodes.emplace_back();
    node.id = space.Intern(name, name, 0);
    node.value = {.flat = 10, .cum = 20};
    node.place = {.file = name, .line = 3};
    node.tags = {{.text = name, .weight = 5}};
    const auto last = static_cast<std::uint32_t>(graph.nodes.size() - 1);
    if (last > 0) {
      graph.edges.push_back(
          {.from = last - 1, .to = last, .weight = 10, .residual = last % 2 == 0});
    }
  }
  const DotStyle style{.title = names.front(), .legend = names, .amount = [](std::int64_t value) {
                         return fmt::format("{}", value);
                       }};
  const auto text = WriteDot(graph, space, style);
  EXPECT_TRUE(text.has_value());
  return *text;
}

TEST(WriteDot, IsReadBackWithTheSameLabels) {
  using namespace std::string_literals;
  const std::vector<std::string> names{"plain",
                                       "double \"quote\"",
                                       "back\\slash",
                                       "trailing\\",
                                       "\\",
                                       "\\\"",
                                       "\\N\\G\\E\\T\\H\\L",
                                       "label\\l\\r",
                                       "new\nline",
                                       "nul\0x"s,
                                       "\x1b[31m",
                                       "<b>bold</b>",
                                       "</script>",
                                       "&amp;",
                                       "}; digraph {",
                                       "node [shape=box]",
                                       "// comment",
                                       "/* comment */",
                                       "# line",
                                       "",
                                       " ",
                                       "漢字",
                                       "\xff\xfe",
                                       "\u202e",
                                       std::string(100'000, 'x'),
                                       "edge",
                                       "graph",
                                       "1.5",
                                       "-"};
  NodeSpace space;
  const std::string text = Written(names, space);
  const Handle graph(::agmemread(text.c_str()));
  ASSERT_NE(graph, nullptr) << text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Agnode_t* node = ::agnode(graph.get(), fmt::format("N{}", i + 1).data(), 0);
    ASSERT_NE(node, nullptr) << i;
    const std::string shown = EscapeDot(Shorten(EscapeText(names[i]), 60));
    const std::string label = Get(node, "label");
    // The name's line begins the label (a nameless node shows its file).
    EXPECT_EQ(label.substr(0, shown.size()), shown);
    EXPECT_EQ(label.substr(shown.size(), 2), "\\n");
    EXPECT_THAT(label, testing::EndsWith("10 (1.0%)\\nof 20 (2.0%)"));
    Agnode_t* tag = ::agnode(graph.get(), fmt::format("N{}_0", i + 1).data(), 0);
    ASSERT_NE(tag, nullptr);
  }
  EXPECT_EQ(static_cast<std::size_t>(::agnnodes(graph.get())), 2 * names.size() + 1);
  EXPECT_EQ(static_cast<std::size_t>(::agnedges(graph.get())), 2 * names.size() - 1);
}

TEST(WriteDot, DrawsResidualEdgesDotted) {
  NodeSpace space;
  const std::string text = Written({"a", "b", "c"}, space);
  const Handle graph(::agmemread(text.c_str()));
  ASSERT_NE(graph, nullptr);
  const auto edge = [&](std::string from, std::string to) {
    return ::agedge(graph.get(), ::agnode(graph.get(), from.data(), 0),
                    ::agnode(graph.get(), to.data(), 0), nullptr, 0);
  };
  ASSERT_NE(edge("N1", "N2"), nullptr);
  EXPECT_NE(Get(edge("N1", "N2"), "style"), "dotted");
  EXPECT_EQ(Get(edge("N2", "N3"), "style"), "dotted");
  EXPECT_EQ(Get(edge("N2", "N3"), "tooltip"), "b ... c (10)");
}

const DotStyle kPlain{.title = "t", .legend = {}, .amount = [](std::int64_t value) {
                        return fmt::format("{}", value);
                      }};

// Ten nodes side by side: six, and four below them.
TEST(WriteDot, FoldsWideRows) {
  NodeSpace space;
  Graph graph;
  graph.total = 100;
  for (int i = 0; i < 10; ++i) {
    graph.nodes.push_back(
        {.id = space.Intern(fmt::format("op{}", i), "", 0), .value = {.flat = 10, .cum = 10}});
  }
  const auto text = WriteDot(graph, space, kPlain);
  ASSERT_TRUE(text.has_value());
  const Handle read(::agmemread(text->c_str()));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(::agnedges(read.get()), 4);
  std::string below = "N7";
  Agedge_t* held = ::agfstin(read.get(), ::agnode(read.get(), below.data(), 0));
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(Get(held, "style"), "invis");
  EXPECT_STREQ(::agnameof(agtail(held)), "N1");
}

TEST(WriteDot, LabelsOfAllNodesAreNotRepeated) {
  NodeSpace space;
  Graph graph;
  graph.total = 20;
  graph.common_tags = {"device:0"};
  for (const std::string kind : {"a", "b"}) {
    graph.nodes.push_back({.id = space.Intern(kind, "", 0),
                           .value = {.flat = 10, .cum = 10},
                           .tags = {{.text = "device:0\nkind:" + kind, .weight = 6},
                                    {.text = "device:0", .weight = 4}}});
  }
  const auto text = WriteDot(graph, space, kPlain);
  ASSERT_TRUE(text.has_value());
  const Handle read(::agmemread(text->c_str()));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(::agnnodes(read.get()), 2 + 2 + 1);
  std::string box = "N1_0";
  EXPECT_EQ(Get(::agnode(read.get(), box.data(), 0), "label"), "kind:a");
  EXPECT_EQ(text->find("device:0"), std::string::npos);
}

TEST(WriteDot, OfNothingIsALegend) {
  NodeSpace space;
  const DotStyle style{.title = "empty", .legend = {"nothing"}, .amount = [](std::int64_t) {
                         return std::string();
                       }};
  const auto text = WriteDot(Graph{}, space, style);
  ASSERT_TRUE(text.has_value());
  const Handle graph(::agmemread(text->c_str()));
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(::agnnodes(graph.get()), 1);
}

}  // namespace
}  // namespace memtool::commands
