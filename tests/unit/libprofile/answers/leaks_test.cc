// What grows over small inputs and one history, worked out by hand.
#include "memtool/profile/answers/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_history.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;

// In input i f holds 10 + 5 i, g always 7, and h holds 20 from the fourth on.
std::vector<Selection> Inputs(int count) {
  std::vector<Selection> selections;
  for (int i = 0; i < count; ++i) {
    test::ProfileMaker maker;
    maker.Sample("main@t.py;f@a.py", {1, 10 + 5 * i}).Sample("main@t.py;g@a.py", {1, 7});
    if (i >= 3) {
      maker.Sample("main@t.py;h@b.py", {1, 20});
    }
    selections.push_back(*Select(maker.Finish(), {.name = "m" + std::to_string(i + 1) + ".prof"}));
  }
  return selections;
}

std::vector<std::string> Names(const Finding& finding) {
  std::vector<std::string> names;
  for (const FoundRow& row : finding.rows) {
    names.push_back(row.name.str());
  }
  return names;
}

TEST(LeaksAnswer, InputsAreOneSeries) {
  const auto answer = Leaks(Inputs(6));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->order, InputOrder::kName);
  EXPECT_FALSE(answer->history);
  ASSERT_EQ(answer->points.size(), 6U);
  EXPECT_EQ(answer->points[0].name, "m1.prof");
  EXPECT_EQ(answer->points[0].total, 17);
  EXPECT_EQ(answer->points[5].total, 62);
  ASSERT_EQ(answer->rows.size(), 2U);  // without g
  EXPECT_EQ(answer->rows[0].name, "f");
  EXPECT_THAT(answer->rows[0].series, ElementsAre(10, 15, 20, 25, 30, 35));
  EXPECT_EQ(answer->rows[0].growth.slope, 5);
  EXPECT_EQ(answer->total, 45);
  LeaksQuery query;
  query.all = true;
  EXPECT_EQ(Leaks(Inputs(6), query)->rows.size(), 4U);  // g, and main with nothing of its own
}

TEST(LeaksAnswer, FindingsHaveCodesAndFigures) {
  const auto answer = Leaks(Inputs(6));
  ASSERT_EQ(answer->findings.size(), 3U);
  const Finding& growing = answer->findings[0];
  EXPECT_EQ(growing.code, FindingCode::kGrowing);
  EXPECT_EQ(growing.shape, GrowthShape::kSteady);
  EXPECT_THAT(Names(growing), ElementsAre("f"));
  EXPECT_EQ(growing.sum.slope, 5);
  const Finding& jump = answer->findings[1];
  EXPECT_EQ(jump.code, FindingCode::kJump);
  EXPECT_THAT(Names(jump), ElementsAre("h"));
  EXPECT_EQ(jump.step, 3U);
  EXPECT_EQ(jump.sum.delta(), 20);
  const Finding& constant = answer->findings[2];
  EXPECT_EQ(constant.code, FindingCode::kConstant);
  EXPECT_THAT(Names(constant), ElementsAre("g"));
  EXPECT_EQ(constant.sum.last, 7);
}

TEST(LeaksAnswer, FewPointsAreDoubt) {
  const auto three = Leaks(Inputs(3));
  EXPECT_EQ(three->findings[0].code, FindingCode::kMaybe);
  EXPECT_EQ(three->findings[0].doubt, Doubt::kFewPoints);
  EXPECT_DOUBLE_EQ(three->findings[0].chance, 0.166666667);
  const auto two = Leaks(Inputs(2));
  EXPECT_EQ(two->findings[0].code, FindingCode::kOneStep);
  EXPECT_EQ(two->findings[0].sum.delta(), 5);
  EXPECT_EQ(Leaks(Inputs(1)).error().code, ErrorCode::kUsage);
  LeaksQuery by_time;
  by_time.order = InputOrder::kTime;
  EXPECT_EQ(Leaks(Inputs(3), by_time).error().code, ErrorCode::kUsage);
}

// Of f and g alone: 17, 22, 27, 5 more a step; 100 is 73 more, so 15 steps.
TEST(LeaksAnswer, ReachIsOfAllRows) {
  LeaksQuery query;
  query.capacity = 100;
  const auto answer = Leaks(Inputs(3), query);
  ASSERT_TRUE(answer->reach);
  EXPECT_EQ(answer->reach->code, ReachCode::kEven);
  EXPECT_EQ(answer->reach->steps, 15);
  EXPECT_TRUE(answer->reach->maybe);
  query.capacity = 27;
  EXPECT_EQ(Leaks(Inputs(3), query)->reach->code, ReachCode::kReached);
}

// Eight allocations of 10 bytes that are never freed, in four parts: 20 more in each.
TEST(LeaksAnswer, StepsOfAHistory) {
  RecordingBuilder builder;
  const std::vector<StackId> stacks = test::AddStacks(builder, 1, "model.py");
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < 8; ++i) {
    events.push_back(
        {.key = 0x1000 + i * 16, .size = 10, .stack = stacks[0], .action = Action::kAlloc});
  }
  const HistoryIndex index(std::make_shared<const Recording>(
      test::MakeRecording(test::BuildHistory(std::move(events)), {}, std::move(builder))));
  const Filter all = *Filter::Compile(test::AllFrames());
  const View view(index.recording(), all);
  LeaksQuery query;
  query.steps.parts = 4;
  query.steps.measure = StepMeasure::kEnd;
  const auto answer = LeaksOfHistory(index, view, "s.pickle", query);
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->history);
  EXPECT_EQ(answer->history->measure, StepMeasure::kEnd);
  EXPECT_TRUE(answer->history->mark.empty());
  EXPECT_EQ(answer->head.inputs[0].moment, "start to end");
  ASSERT_EQ(answer->rows.size(), 1U);
  EXPECT_THAT(answer->rows[0].series, ElementsAre(20, 40, 60, 80));
  ASSERT_TRUE(answer->rows[0].retained);
  EXPECT_EQ(answer->rows[0].retained->steps, 4U);
  // Nothing shows that these are iterations.
  EXPECT_EQ(answer->findings[0].code, FindingCode::kOneIteration);
  EXPECT_EQ(answer->rows[0].growth.evidence, GrowthEvidence::kWeak);
}

TEST(LeaksAnswer, AsJson) {
  LeaksQuery query;
  query.capacity = 1000;
  const auto answer = Leaks(Inputs(6), query);
  std::string text;
  WriteJson(MakeView(*answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.leaks/1");
  EXPECT_STREQ(json["verdict"][0].GetString(), "growing");
  EXPECT_STREQ(json["findings"][1]["rows"][0]["name"].GetString(), "h");
  EXPECT_STREQ(json["order"].GetString(), "name");
  EXPECT_TRUE(json["step_mark"].IsNull());
  EXPECT_EQ(json["rows"][0]["slope"].GetInt(), 5);
  EXPECT_EQ(json["rows"][0]["series"][5].GetInt(), 35);
  EXPECT_TRUE(json["reach"]["code"].IsString());
}

}  // namespace
}  // namespace memtool
