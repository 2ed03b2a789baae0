// The call graph as an answer: what was left out is a figure.
#include "memtool/profile/answers/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

std::vector<Selection> StepInputs(std::int64_t bytes) {
  SelectOptions options{.name = "input"};
  options.filter = std::make_shared<const Filter>(*Filter::Compile(test::AllFrames()));
  std::vector<Selection> inputs;
  inputs.push_back(*Select(test::ProfileMaker()
                               .Sample("main;train;step@m.py:3", {1, bytes}, "device=cuda:0")
                               .Sample("main;load", {1, 1})
                               .Sample("", {1, 9})
                               .Finish(),
                           std::move(options)));
  return inputs;
}

std::vector<std::string> NodeNames(const GraphAnswer& answer) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < answer.graph.nodes.size(); ++i) {
    names.emplace_back(NodeName({&answer, i}));
  }
  return names;
}

TEST(MakeGraph, SaysWhatItLeftOut) {
  const GraphAnswer answer = MakeGraph({}, StepInputs(990), {.node_fraction = 0.1});
  EXPECT_THAT(NodeNames(answer), testing::UnorderedElementsAre("main", "train", "step"));
  EXPECT_EQ(answer.graph.total, 1000);
  EXPECT_EQ(answer.graph.shown, 990);
  EXPECT_DOUBLE_EQ(answer.shown_share, 0.99);
  EXPECT_EQ(answer.graph.without_stack, 9);
  EXPECT_EQ(answer.nodes_left_out(), 1U);
  EXPECT_EQ(answer.edges_left_out(), 0U);
  EXPECT_FALSE(answer.difference);
}

TEST(MakeGraph, SubtractsBases) {
  const GraphAnswer answer = MakeGraph(StepInputs(190), StepInputs(290), {});
  EXPECT_TRUE(answer.difference);
  EXPECT_EQ(answer.graph.total, 200);
  EXPECT_EQ(answer.graph.shown, 100);
  EXPECT_DOUBLE_EQ(answer.shown_share, 0.5);
  EXPECT_EQ(answer.head.inputs.size(), 2U);
}

TEST(MakeGraph, IsJson) {
  std::string text;
  const GraphAnswer answer = MakeGraph({}, StepInputs(990), {.node_fraction = 0.1});
  WriteJson(MakeView(answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_FALSE(json.HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.graph/1");
  EXPECT_EQ(json["nodes_left_out"].GetInt64(), 1);
  ASSERT_EQ(json["edges"].Size(), 2U);
  const auto& edge = json["edges"][0];
  EXPECT_EQ(edge["weight"].GetInt64(), 990);
  for (const auto& row : json["rows"].GetArray()) {
    if (std::string(row["name"].GetString()) == "step") {
      EXPECT_EQ(row["flat"].GetInt64(), 990);
      ASSERT_EQ(row["tags"].Size(), 1U);
      EXPECT_STREQ(row["tags"][0]["text"].GetString(), "device:cuda:0");
    }
  }
}

}  // namespace
}  // namespace memtool
