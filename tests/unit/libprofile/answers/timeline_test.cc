// Points, layers and places of a timeline; figures worked out by hand.
#include "memtool/profile/answers/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "memtool/profile/history/events.h"
#include "support/answer_json.h"
#include "support/make_history.h"

namespace memtool {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kTimelineMilli = 1'000'000;

// Device 0 holds 0, 100, 130, 30 in 2,048 reserved; f0 allocates 100, f1 the rest. Device 1 holds
// 5, device 2 has no events. A step begins between the second allocation and the failed one.
HistoryIndex ThreeDevices() {
  RecordingBuilder builder;
  const auto stacks = test::AddStacks(builder, 2, "model.py");
  History history = test::BuildHistory({{.key = 0x1000,
                                         .size = 2048,
                                         .time = 1 * kTimelineMilli,
                                         .stack = {},
                                         .action = Action::kSegmentAlloc},
                                        {.key = 0x1000,
                                         .size = 100,
                                         .time = 2 * kTimelineMilli,
                                         .stack = stacks[0],
                                         .action = Action::kAlloc},
                                        {.key = 0x1100,
                                         .size = 30,
                                         .time = 3 * kTimelineMilli,
                                         .stack = stacks[1],
                                         .action = Action::kAlloc},
                                        {.key = kUnknownBytes,
                                         .size = 5000,
                                         .time = 4 * kTimelineMilli,
                                         .stack = {},
                                         .action = Action::kOom},
                                        {.key = 0x1000,
                                         .size = 100,
                                         .time = 5 * kTimelineMilli,
                                         .stack = {},
                                         .action = Action::kFreeCompleted}});
  test::AddTrace(history, {{.key = 0x1000,
                            .size = 5,
                            .time = 6 * kTimelineMilli,
                            .stack = stacks[1],
                            .action = Action::kAlloc}});
  test::AddTrace(history, {});
  history.clock = Clock::kUnix;
  history.marks = {{.name = "step", .device = 0, .begin = 3 * kTimelineMilli + kTimelineMilli / 2}};
  return HistoryIndex(test::MakeRecording(std::move(history), {}, std::move(builder)));
}

TimelineAnswer AskTimeline(const HistoryIndex& index, const TimelineQuery& query) {
  return *BuildTimeline(index, Filter{}, query);
}

std::vector<std::string> Rows(const TimelineAnswer& answer) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < answer.row_count(); ++i) {
    const TimelineRow row = answer.Row(i);
    std::string text = std::to_string(row.device) + ": " + std::to_string(row.event) + " " +
                       std::to_string(row.allocated) + " of " +
                       (IsClamped(row.reserved) ? "unknown" : std::to_string(row.reserved));
    for (const std::int64_t bytes : row.layers) {
      text += " " + std::to_string(bytes);
    }
    rows.push_back(std::move(text));
  }
  return rows;
}

TEST(TimelineAnswer, HasAPointPerChangeOfEachTrace) {
  const HistoryIndex index = ThreeDevices();
  const TimelineAnswer answer = AskTimeline(index, {});
  EXPECT_THAT(Rows(answer),
              ElementsAre("0: -1 0 of 0", "0: 0 0 of 2048", "0: 1 100 of 2048", "0: 2 130 of 2048",
                          "0: 4 30 of 2048", "1: -1 0 of unknown", "1: 0 5 of unknown"));
  EXPECT_THAT(answer.silent, ElementsAre(2U));
  EXPECT_TRUE(answer.layers.empty());
  EXPECT_EQ(answer.zero, kTimelineMilli);
  EXPECT_EQ(answer.traces[0].summary.peak_bytes, 130);
}

TEST(TimelineAnswer, NamesTheLayersThatHoldMost) {
  const HistoryIndex index = ThreeDevices();
  const TimelineAnswer answer =
      AskTimeline(index, {.by = *ParseBy("function"), .top = 1, .range = {}, .device = "0"});
  ASSERT_EQ(answer.layers.size(), 3U);
  EXPECT_EQ(answer.layers[0].name, "f0");
  EXPECT_EQ(answer.layers[1].kind, TimelineLayer::Kind::kBeforeRecording);
  EXPECT_EQ(answer.layers[2].key, "rest");
  EXPECT_THAT(Rows(answer),
              ElementsAre("0: -1 0 of 0 0 0 0", "0: 0 0 of 2048 0 0 0", "0: 1 100 of 2048 100 0 0",
                          "0: 2 130 of 2048 100 0 30", "0: 4 30 of 2048 0 0 30"));
}

TEST(TimelineAnswer, PlacesFailuresAndMarksOnTheAxis) {
  const HistoryIndex index = ThreeDevices();
  for (const bool by_time : {false, true}) {
    const TimelineAnswer answer = AskTimeline(index, {.range = {}, .by_time = by_time});
    const auto& places = answer.traces[0].places;
    ASSERT_EQ(places.size(), 2U);
    EXPECT_EQ(places[0].name, "step");
    EXPECT_EQ(places[0].event, 2);
    EXPECT_EQ(places[0].since, 5 * kTimelineMilli / 2);
    EXPECT_TRUE(places[1].oom);
    EXPECT_EQ(places[1].event, 3);
    EXPECT_EQ(places[1].since, 3 * kTimelineMilli);
    EXPECT_TRUE(answer.traces[1].places.empty());
    const std::vector<std::int64_t> axis =
        by_time ? std::vector<std::int64_t>{0, 0, kTimelineMilli, 2 * kTimelineMilli,
                                            4 * kTimelineMilli}
                : std::vector<std::int64_t>{-1, 0, 1, 2, 4};
    EXPECT_EQ(GetAxis(answer, answer.traces[0]), axis);
  }
}

TEST(TimelineAnswer, IsWrittenWithLayersFailuresAndMarks) {
  const HistoryIndex index = ThreeDevices();
  const TimelineAnswer answer = AskTimeline(
      index,
      {.name = "a.pickle", .by = *ParseBy("function"), .top = 1, .range = {}, .device = "0"});
  const auto json = test::WrittenJson(MakeView(answer));
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "memtool.timeline/1");
  const auto& input = json["inputs"][0];
  EXPECT_STREQ(input["path"].GetString(), "a.pickle");
  EXPECT_STREQ(input["moment"].GetString(), "start to end");
  EXPECT_STREQ(input["layers"][0]["key"].GetString(), "layer_1");
  EXPECT_EQ(input["ooms"][0]["asked"].GetInt64(), 5000);
  EXPECT_EQ(input["ooms"][0]["time_us"].GetInt64(), 4000);
  EXPECT_EQ(input["marks"][0]["begin_us"].GetInt64(), 3500);
  EXPECT_TRUE(input["marks"][0]["end_us"].IsNull());
  ASSERT_EQ(json["rows"].Size(), 5U);
  EXPECT_EQ(json["rows"][3]["layer_1"].GetInt64(), 100);
  EXPECT_EQ(json["rows"][3]["rest"].GetInt64(), 30);
  EXPECT_TRUE(json["rows"][0]["time_us"].IsNull());
}

TEST(TimelineAnswer, RefusesADeviceThatIsNotThere) {
  const HistoryIndex index = ThreeDevices();
  const auto answer = BuildTimeline(index, Filter{}, {.range = {}, .device = "7"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
}

// Of parts of equal numbers of events, the highest and the lowest that a state in them has; a part
// begins with the state before its first event.
TEST(TimelineAnswer, APartHasItsLowest) {
  std::vector<Event> events;
  std::vector<std::int64_t> live{0};
  for (std::uint64_t i = 0; i < 60; ++i) {
    const bool frees = i % 3 == 2;
    const auto size = static_cast<std::int64_t>((i * 37) % 11 + 1);
    events.push_back({.key = frees ? events.back().key : 0x1000 + i,
                      .size = frees ? events.back().size : size,
                      .time = static_cast<std::int64_t>(i),
                      .stack = {},
                      .action = frees ? Action::kFreeCompleted : Action::kAlloc});
    live.push_back(live.back() + (frees ? -events.back().size : size));
  }
  const HistoryIndex index(test::MakeRecording(test::BuildHistory(events), {}, {}));
  const TimelineAnswer answer = AskTimeline(index, {.range = {}, .points = 6});
  std::size_t parts = 0;
  for (std::size_t row = 0; row < answer.row_count(); ++row) {
    const TimelineRow point = answer.Row(row);
    const std::int64_t part = std::max<std::int64_t>(point.event, 0) / 10;
    const auto begin = live.begin() + part * 10;
    if (point.allocated == *std::max_element(begin + 1, begin + 11) && point.event >= 0) {
      EXPECT_EQ(point.lowest, *std::min_element(begin, begin + 11)) << point.event;
      ++parts;
    }
  }
  EXPECT_EQ(parts, 6U);
}

}  // namespace
}  // namespace memtool
