#include "memtool/profile/rows/graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

struct Drawn {
  Graph graph;
  std::map<std::string, const GraphNode*> nodes;
  std::vector<std::string> edges;  // "a -> b 10", "a ... b 10", sorted
};

std::unique_ptr<Drawn> Draw(const std::vector<const Recording*>& recordings,
                            const GraphOptions& options,
                            const FilterOptions& filter_options = test::AllFrames()) {
  const Filter filter = *Filter::Compile(filter_options);
  std::vector<std::unique_ptr<View>> views;
  std::vector<ValueChoice> choices(recordings.size());
  std::vector<StackSums> sums(recordings.size());
  std::vector<SignedInput> inputs;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    views.push_back(std::make_unique<View>(*recordings[i], filter));
    choices[i] = *ChooseValue(*recordings[i], "");
    sums[i] = SumByStack(*views[i], choices[i]);
    // With two, the first is the base.
    inputs.push_back(
        {{.view = views[i].get(), .sums = &sums[i], .choice = &choices[i], .name = "x"},
         recordings.size() == 2 && i == 0 ? -1 : 1});
  }
  NodeSpace space;
  auto drawn = std::make_unique<Drawn>();
  drawn->graph = BuildGraph(inputs, options, space);
  const auto name = [&](std::uint32_t node) {
    return std::string(space.Name(drawn->graph.nodes[node].id));
  };
  for (std::uint32_t i = 0; i < drawn->graph.nodes.size(); ++i) {
    drawn->nodes[name(i)] = &drawn->graph.nodes[i];
  }
  for (const GraphEdge& edge : drawn->graph.edges) {
    drawn->edges.push_back(fmt::format("{} {} {} {}", name(edge.from), edge.residual ? "..." : "->",
                                       name(edge.to), edge.weight));
  }
  std::sort(drawn->edges.begin(), drawn->edges.end());
  return drawn;
}

const GraphOptions kEverything{
    .node_count = 0, .edge_count = 0, .node_fraction = 0, .edge_fraction = 0};

TEST(Graph, CountsAnEdgeOncePerStack) {
  const Recording r =
      ProfileMaker().Sample("main;a;b", {1, 10}).Sample("main;f;g;f;g", {1, 4}).Finish();
  const auto drawn = Draw({&r}, kEverything);
  EXPECT_THAT(drawn->edges,
              ElementsAre("a -> b 10", "f -> g 4", "g -> f 4", "main -> a 10", "main -> f 4"));
  EXPECT_EQ(drawn->nodes.at("main")->value.cum, 14);
  EXPECT_EQ(drawn->nodes.at("g")->value.flat, 4);
  EXPECT_EQ(drawn->nodes.at("f")->value.cum, 4);
  EXPECT_EQ(drawn->graph.total, 14);
  EXPECT_EQ(drawn->graph.shown, 14);
}

TEST(Graph, BridgesLeftOutNodesWithResidualEdges) {
  const Recording r =
      ProfileMaker().Sample("main;tiny;big", {1, 1000}).Sample("main;other", {1, 500}).Finish();
  GraphOptions options = kEverything;
  options.node_count = 3;
  const auto drawn = Draw({&r}, options);
  EXPECT_EQ(drawn->graph.nodes.size(), 3U);
  EXPECT_EQ(drawn->graph.nodes_all, 4U);
  // Whichever node is left out, what flows through it is still drawn, dotted.
  std::int64_t into_big = 0;
  for (const std::string& edge : drawn->edges) {
    if (edge.find(" big ") != std::string::npos) {
      into_big += std::stoll(edge.substr(edge.rfind(' ')));
    }
  }
  EXPECT_EQ(into_big, 1000);
}

TEST(Graph, LeavesOutSmallNodes) {
  const Recording r = ProfileMaker()
                          .Sample("main;big", {1, 10000})
                          .Sample("main;mid;small", {1, 10})
                          .Sample("main;mid;big", {1, 5000})
                          .Finish();
  GraphOptions options = kEverything;
  options.node_fraction = 0.005;
  const auto drawn = Draw({&r}, options);
  EXPECT_EQ(drawn->graph.nodes_small, 1U);
  EXPECT_EQ(drawn->graph.node_cutoff, 75);
  EXPECT_EQ(drawn->nodes.count("small"), 0U);
  EXPECT_EQ(drawn->graph.shown, 15000);
}

TEST(Graph, DropsResidualEdgesThatAnotherWayExplains) {
  // Without x, main reaches c both over b and past it.
  const Recording r =
      ProfileMaker().Sample("main;b;c", {1, 1000}).Sample("main;x;c", {1, 10}).Finish();
  GraphOptions options = kEverything;
  options.node_fraction = 0.05;
  // All edges are all of them.
  EXPECT_THAT(Draw({&r}, options)->edges,
              ElementsAre("b -> c 1000", "main -> b 1000", "main ... c 10"));
  options.edge_count = 300;
  const auto drawn = Draw({&r}, options);
  EXPECT_EQ(drawn->nodes.count("x"), 0U);
  EXPECT_THAT(drawn->edges, ElementsAre("b -> c 1000", "main -> b 1000"));
  EXPECT_EQ(drawn->graph.edges_redundant, 1U);
}

// What carries most of the bytes is not clutter, whatever other path there is.
TEST(Graph, KeepsResidualEdgesThatCarryMost) {
  ProfileMaker maker;
  maker.Sample("main;b;c", {1, 100});
  for (int i = 0; i < 25; ++i) {
    maker.Sample(fmt::format("main;x{};c", i), {1, 40});
  }
  const Recording r = maker.Finish();
  GraphOptions options = kEverything;
  options.edge_count = 300;
  options.node_fraction = 0.05;  // of 1,100: each x is below 55
  const auto drawn = Draw({&r}, options);
  EXPECT_THAT(drawn->edges, ElementsAre("b -> c 100", "main -> b 100", "main ... c 1000"));
  EXPECT_EQ(drawn->graph.edges_redundant, 0U);
}

TEST(Graph, LimitsEdgesButReachesEveryNode) {
  ProfileMaker maker;
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      maker.Sample(fmt::format("main;f{};g{}", from, to), {1, 100 + 10 * from + to});
    }
  }
  const Recording r = maker.Finish();
  GraphOptions options = kEverything;
  options.edge_count = 14;
  const auto drawn = Draw({&r}, options);
  EXPECT_EQ(drawn->graph.edges_all, 42U);
  EXPECT_EQ(drawn->graph.edges.size(), 14U);
  for (const char* node : {"f0", "f5", "g0", "g5"}) {
    EXPECT_THAT(drawn->edges, Contains(testing::HasSubstr(fmt::format(" {} ", node)))) << node;
  }
}

TEST(Graph, SubtractsABase) {
  const Recording base =
      ProfileMaker().Sample("main;same", {1, 10}).Sample("main;gone", {1, 5}).Finish();
  const Recording now =
      ProfileMaker().Sample("main;same", {1, 10}).Sample("main;grown", {1, 30}).Finish();
  const auto drawn = Draw({&base, &now}, kEverything);
  EXPECT_THAT(drawn->edges, ElementsAre("main -> gone -5", "main -> grown 30"));
  EXPECT_EQ(drawn->nodes.at("main")->value.cum, 25);
  EXPECT_EQ(drawn->graph.total, 15);  // percentages are of the base
  EXPECT_EQ(drawn->nodes.count("same"), 0U);
}

TEST(Graph, ShowsTheHeaviestLabelsOfANode) {
  ProfileMaker maker;
  for (int device = 0; device < 6; ++device) {
    maker.Sample("main;f", {1, 100 * (device + 1)},
                 fmt::format("device=cuda:{} kind=buffer", device));
  }
  maker.Sample("main;f", {1, 7}, "bytes=#64bytes");
  const Recording r = maker.Finish();
  auto drawn = Draw({&r}, kEverything);
  const auto& tags = drawn->nodes.at("f")->tags;
  ASSERT_EQ(tags.size(), 4U);
  EXPECT_EQ(tags[0].text, "device:cuda:5\nkind:buffer");
  EXPECT_EQ(tags[0].weight, 600);
  EXPECT_EQ(tags[3].weight, 300);
  EXPECT_TRUE(drawn->nodes.at("main")->tags.empty());

  FilterOptions filter = test::AllFrames();
  filter.tag_hide = "device";
  drawn = Draw({&r}, kEverything, filter);
  ASSERT_FALSE(drawn->nodes.at("f")->tags.empty());
  EXPECT_EQ(drawn->nodes.at("f")->tags[0].text, "kind:buffer");
  EXPECT_EQ(drawn->nodes.at("f")->tags[0].weight, 2100);
}

TEST(Graph, AccountsForSamplesWithoutStack) {
  const Recording r = ProfileMaker().Sample("", {1, 7}).Sample("main", {1, 3}).Finish();
  const auto drawn = Draw({&r}, kEverything);
  EXPECT_EQ(drawn->graph.without_stack, 7);
  EXPECT_EQ(drawn->graph.total, 10);
  EXPECT_EQ(drawn->graph.shown, 3);
}

TEST(Graph, IsTheSameEveryTime) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Recording r = test::RandomProfile(seed);
    const auto first = Draw({&r}, GraphOptions{});
    const auto second = Draw({&r}, GraphOptions{});
    EXPECT_EQ(first->edges, second->edges);
    for (const GraphEdge& edge : first->graph.edges) {
      ASSERT_LT(edge.from, first->graph.nodes.size());
      ASSERT_LT(edge.to, first->graph.nodes.size());
    }
  }
}

}  // namespace
}  // namespace memtool
