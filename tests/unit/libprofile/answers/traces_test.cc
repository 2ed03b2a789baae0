// Stacks with their labels: what counts as one trace, and texts on demand.
#include "memtool/profile/answers/traces.h"

#include <fmt/format.h>
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

using test::ProfileMaker;
using testing::ElementsAre;

Selection Of(Recording recording, FilterOptions filter = test::AllFrames()) {
  SelectOptions options{.name = "input"};
  options.filter = std::make_shared<const Filter>(*Filter::Compile(filter));
  return *Select(std::move(recording), std::move(options));
}

// "value/count labels stack" per row.
std::vector<std::string> Rows(const TracesAnswer& answer) {
  std::vector<std::string> rows;
  for (const TraceRow& row : answer.rows) {
    rows.push_back(fmt::format("{}/{} [{}] {}", row.value, row.count, row.Labels(), row.Folded()));
  }
  return rows;
}

Recording Small() {
  return ProfileMaker()
      .Sample("main;train;step", {1, 100}, "device=cuda:0")
      .Sample("main;train;step", {2, 60}, "device=cuda:0")
      .Sample("main;train;step", {1, 30}, "device=cuda:1")
      .Sample("main;load", {4, -500})
      .Sample("", {1, 7})
      .Finish();
}

TEST(Traces, AreStacksWithTheirLabels) {
  const TracesAnswer answer = Traces(Of(Small()));
  EXPECT_THAT(Rows(answer),
              ElementsAre("-500/4 [] main;load", "160/3 [device=cuda:0] main;train;step",
                          "30/1 [device=cuda:1] main;train;step", "7/1 [] "));
  EXPECT_EQ(answer.total, -303);
  EXPECT_EQ(answer.texts->stacks.size(), 3U);
}

TEST(Traces, WhatAFilterMakesEqualIsOne) {
  FilterOptions filter = test::AllFrames();
  filter.hide = "train|load";
  filter.tag_hide = "device";
  EXPECT_THAT(Rows(Traces(Of(Small(), filter))),
              ElementsAre("-500/4 [] main", "190/4 [] main;step"));
}

TEST(Traces, LabelFramesAreThoseOfTheSample) {
  FilterOptions filter = test::AllFrames();
  filter.tag_root = "device";
  filter.focus = "step";
  filter.tag_hide = ".";
  EXPECT_THAT(Rows(Traces(Of(Small(), filter))),
              ElementsAre("160/3 [] cuda:0;main;train;step", "30/1 [] cuda:1;main;train;step"));
}

TEST(Traces, OfSeveralInputsAddUp) {
  TracesMaker maker;
  maker.Add(Of(Small()));
  maker.Add(Of(ProfileMaker()
                   .Sample("other", {1, 1})
                   .Sample("main;train;step", {1, 1000}, "device=cuda:0")
                   .Finish()));
  const TracesAnswer answer = std::move(maker).Make();
  EXPECT_THAT(Rows(answer),
              ElementsAre("1160/4 [device=cuda:0] main;train;step", "-500/4 [] main;load",
                          "30/1 [device=cuda:1] main;train;step", "7/1 [] ", "1/1 [] other"));
}

TEST(Traces, AreJsonOfTheirSchema) {
  std::string text;
  const TracesAnswer answer = Traces(Of(Small()));
  WriteJson(MakeView(answer), 2, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_FALSE(json.HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.traces/1");
  EXPECT_EQ(json["total"].GetInt64(), -303);
  EXPECT_EQ(json["rows_cut"].GetInt64(), 2);
  EXPECT_STREQ(json["rows"][1]["stack"].GetString(), "main;train;step");
  EXPECT_STREQ(json["rows"][1]["labels"].GetString(), "device=cuda:0");
}

}  // namespace
}  // namespace memtool
