#include "memtool/profile/rows/call_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

namespace memtool {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// `stack`: nodes from the root.
std::uint32_t Add(CallGraph& graph, std::vector<std::uint32_t> stack, std::int64_t value,
                  const std::vector<char>& kept = {}) {
  graph.Resize(8);
  std::vector<NodeId> nodes;
  for (std::size_t i = stack.size(); i-- > 0;) {
    nodes.emplace_back(stack[i]);
  }
  return graph.AddStack(nodes, {}, {value}, kept);
}

const CallEdge* FindEdge(const CallGraph& graph, std::uint32_t from, std::uint32_t to) {
  for (const CallEdge& edge : graph.edges()) {
    if (edge.from == from && edge.to == to) {
      return &edge;
    }
  }
  return nullptr;
}

TEST(CallGraph, CountsRecursionOncePerStack) {
  CallGraph graph;
  EXPECT_EQ(Add(graph, {0, 1, 2, 1, 2}, 10), 2U);
  EXPECT_EQ(graph.nodes()[1].cum.value, 10);
  EXPECT_EQ(graph.nodes()[2].flat.value, 10);
  EXPECT_EQ(FindEdge(graph, 1, 2)->weight.value, 10);
  EXPECT_EQ(FindEdge(graph, 2, 1)->weight.value, 10);
  EXPECT_THAT(graph.counted(), testing::ElementsAre(0, 1, 2));
}

// Against maps and sets that know nothing of rows and stamps.
TEST(CallGraph, IsWhatSetsSay) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    CallGraph graph;
    std::vector<std::int64_t> flat(8);
    std::vector<std::int64_t> cum(8);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> edges;
    for (int i = 0; i < 40; ++i) {
      std::vector<std::uint32_t> stack;
      for (auto depth = 1 + random() % 7; depth > 0; --depth) {
        stack.push_back(static_cast<std::uint32_t>(random() % 8));
      }
      const auto value = static_cast<std::int64_t>(random() % 2000) - 500;
      Add(graph, stack, value);
      flat[stack.back()] += value;
      for (const std::uint32_t node : std::set(stack.begin(), stack.end())) {
        cum[node] += value;
      }
      std::set<std::pair<std::uint32_t, std::uint32_t>> calls;
      for (std::size_t k = 1; k < stack.size(); ++k) {
        if (stack[k - 1] != stack[k]) {
          calls.emplace(stack[k - 1], stack[k]);
        }
      }
      for (const auto& call : calls) {
        edges[call] += value;
      }
    }
    for (std::uint32_t node = 0; node < 8; ++node) {
      EXPECT_EQ(graph.nodes()[node].flat.value, flat[node]);
      EXPECT_EQ(graph.nodes()[node].cum.value, cum[node]);
    }
    ASSERT_EQ(graph.edges().size(), edges.size());
    for (const CallEdge& edge : graph.edges()) {
      const std::pair call(edge.from, edge.to);
      EXPECT_EQ(edge.weight.value, edges.at(call));
    }
  }
}

TEST(CallGraph, ClosesOverWhatIsLeftOut) {
  CallGraph graph;
  const std::vector<char> kept{1, 0, 1, 0, 1, 1, 1, 1};
  EXPECT_EQ(Add(graph, {0, 1, 2}, 5, kept), 2U);
  EXPECT_TRUE(FindEdge(graph, 0, 2)->residual);
  EXPECT_EQ(Add(graph, {0, 2, 3}, 7, kept), CallGraph::kNone);  // its leaf is left out
  EXPECT_EQ(graph.nodes()[2].flat.value, 5);
  EXPECT_EQ(graph.nodes()[2].cum.value, 12);
  EXPECT_EQ(Add(graph, {1, 3}, 7, kept), CallGraph::kNone);
}

TEST(CallGraph, OfTheWaysOverAnEdgeAnyOrTheOutermostIsResidual) {
  const std::vector<char> kept{1, 0, 1, 1, 1, 1, 1, 1};
  CallGraph any;
  Add(any, {0, 2, 0, 1, 2}, 1, kept);
  EXPECT_TRUE(FindEdge(any, 0, 2)->residual);
  CallGraph outermost({.outermost_way = true});
  Add(outermost, {0, 2, 0, 1, 2}, 1, kept);
  EXPECT_FALSE(FindEdge(outermost, 0, 2)->residual);
}

TEST(CallGraph, SumsStickOrWrapAround) {
  CallGraph stick;
  CallGraph wrap({.wrap = true});
  for (CallGraph* graph : {&stick, &wrap}) {
    Add(*graph, {0}, kMax);
    Add(*graph, {0}, 1);
  }
  EXPECT_EQ(stick.nodes()[0].flat.value, kMax);
  EXPECT_EQ(wrap.nodes()[0].flat.value, std::numeric_limits<std::int64_t>::min());
}

TEST(CallGraph, AnEdgeIsInlinedWhenEveryStackSaysSo) {
  CallGraph graph;
  graph.Resize(2);
  const std::vector<NodeId> stack{NodeId(1U), NodeId(0U)};
  const std::vector<char> inlined{1, 0};
  graph.AddStack(stack, inlined, {1, 2}, {});
  EXPECT_TRUE(graph.edges()[0].inlined);
  EXPECT_EQ(graph.edges()[0].weight.divisor, 2);
  graph.AddStack(stack, {}, {1}, {});
  EXPECT_FALSE(graph.edges()[0].inlined);
}

TEST(CallGraph, ScoresBranchingHigherThanPassingOn) {
  CallGraph graph;
  Add(graph, {0, 1, 2}, 100);
  Add(graph, {0, 3, 4}, 50);
  Add(graph, {0, 3, 5}, 50);
  EXPECT_EQ(graph.Score(1), 0);    // one way in, one way out: no entropy
  EXPECT_EQ(graph.Score(3), 100);  // no entropy in, one bit out, times cum
  // Negative flow: |-50| of the 100 that flow forwards, or nothing.
  for (const auto& [rules, wanted] :
       {std::pair{GraphRules{}, 0}, std::pair{GraphRules{.backward_flow = true}, 25}}) {
    CallGraph back(rules);
    Add(back, {0, 1, 2}, 100);
    Add(back, {0, 1, 3}, -50);
    EXPECT_EQ(back.Score(1), wanted);
  }
}

TEST(CallGraph, KnowsOtherWays) {
  CallGraph graph;
  Add(graph, {0, 1, 2}, 1);
  Add(graph, {0, 2}, 1);
  const auto row = static_cast<std::uint32_t>(FindEdge(graph, 0, 2) - graph.edges().data());
  EXPECT_TRUE(graph.HasOtherWay(row));
  graph.SetRemoved(0, true);
  EXPECT_FALSE(graph.HasOtherWay(row));
}

TEST(CallGraph, SplicesNodesOfATree) {
  CallGraph graph;
  Add(graph, {0, 1, 2}, 3);
  Add(graph, {0, 1, 3}, 4);
  graph.Splice(1);
  EXPECT_TRUE(FindEdge(graph, 0, 1)->removed);
  EXPECT_TRUE(FindEdge(graph, 0, 2)->residual);
  EXPECT_EQ(FindEdge(graph, 0, 3)->weight.value, 4);
  graph.Splice(0);
  EXPECT_TRUE(FindEdge(graph, 0, 3)->removed);
}

}  // namespace
}  // namespace memtool
