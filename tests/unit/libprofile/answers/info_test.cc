// Cards of a small profile and a small history.
#include "memtool/profile/answers/info.h"

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

std::shared_ptr<const Recording> InfoProfile() {
  return std::make_shared<const Recording>(test::ProfileMaker()
                                               .Sample("main;f", {1, 10}, "device=0 kind=buffer")
                                               .Sample("main;g", {2, 30}, "device=1")
                                               .Finish());
}

// 10 bytes with a stack, 5 without frames, then an OOM; the first is freed.
std::shared_ptr<const Recording> InfoHistory() {
  RecordingBuilder builder;
  const std::vector<StackId> stacks = test::AddStacks(builder, 1, "model.py");
  memtool::History history = test::BuildHistory(
      {{.key = 16, .size = 10, .time = 1000, .stack = stacks[0], .action = Action::kAlloc},
       {.key = 32, .size = 5, .time = 2000, .stack = stacks[1], .action = Action::kAlloc},
       {.key = kUnknownBytes, .size = 99, .time = 3000, .action = Action::kOom},
       {.key = 16, .size = 10, .time = 4000, .action = Action::kFreeCompleted}});
  history.marks.push_back({.name = "step", .device = 0, .begin = 1000});
  return std::make_shared<const Recording>(
      test::MakeRecording(std::move(history), {}, std::move(builder)));
}

TEST(InfoAnswer, OfAProfile) {
  const InputCard card = MakeCard(InfoProfile());
  ASSERT_EQ(card.types.size(), 2U);
  EXPECT_EQ(card.types[0].type, "allocations");
  EXPECT_EQ(card.types[0].total, 3);
  EXPECT_FALSE(card.types[0].bytes);
  EXPECT_EQ(card.types[1].total, 40);
  EXPECT_TRUE(card.types[1].bytes);
  EXPECT_EQ(card.samples, 2U);
  EXPECT_EQ(card.stacks, 2U);
  EXPECT_EQ(card.functions, 3U);
  EXPECT_THAT(card.label_keys, ElementsAre("device", "kind"));
  EXPECT_FALSE(card.history);
  EXPECT_FALSE(card.state);
}

// An input of a few bytes may name one text millions of times.
TEST(InfoAnswer, NamesATextOnce) {
  Recording recording = *InfoProfile();
  const StringId main = recording.strings.Intern("main");
  const StringId other = recording.strings.Intern("run by me");
  recording.metadata.comments = {main, other, main, main};
  const InputCard card = MakeCard(std::make_shared<const Recording>(std::move(recording)));
  ASSERT_EQ(card.comments.size(), 2U);
  EXPECT_EQ(card.comments[0].text, "main");
  EXPECT_EQ(card.comments[0].count, 3U);
  EXPECT_EQ(card.comments[1].text, "run by me");
  EXPECT_EQ(card.comments[1].count, 1U);
}

TEST(InfoAnswer, OfAHistory) {
  const InputCard card = MakeCard(InfoHistory());
  EXPECT_FALSE(card.samples);
  ASSERT_TRUE(card.history);
  EXPECT_TRUE(card.history->has_events);
  EXPECT_TRUE(card.history->has_times);
  EXPECT_TRUE(card.history->has_ooms);
  ASSERT_EQ(card.history->traces.size(), 1U);
  const TraceCard& trace = card.history->traces[0];
  EXPECT_EQ(trace.summary.peak_bytes, 15);
  EXPECT_EQ(trace.summary.end_bytes, 5);
  EXPECT_THAT(trace.summary.ooms, ElementsAre(2));
  EXPECT_EQ(trace.at_peak.with_stack, 10);
  EXPECT_EQ(trace.at_peak.without_stack, 5);
  EXPECT_EQ(trace.at_peak.before_recording, 0);
}

TEST(InfoAnswer, AsJson) {
  InfoMaker maker;
  maker.Add(InfoProfile(), "a.prof");
  maker.Add(InfoHistory(), "-");
  const InfoAnswer answer = std::move(maker).Make();
  std::string text;
  WriteJson(MakeView(answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.info/1");
  const auto inputs = json["inputs"].GetArray();
  ASSERT_EQ(inputs.Size(), 2U);
  EXPECT_STREQ(inputs[0]["path"].GetString(), "a.prof");
  EXPECT_EQ(inputs[0]["sample_types"][1]["total"].GetInt(), 40);
  EXPECT_EQ(inputs[0]["devices"].Size(), 0U);
  EXPECT_STREQ(inputs[1]["path"].GetString(), "standard input");
  EXPECT_EQ(inputs[1]["samples"].GetInt(), 0);
  EXPECT_EQ(inputs[1]["devices"][0]["peak_stacks"]["with_stack_bytes"].GetInt(), 10);
  EXPECT_EQ(inputs[1]["marks"][0]["begin_ns"].GetInt(), 1000);
  EXPECT_TRUE(inputs[1]["marks"][0]["end_ns"].IsNull());
  EXPECT_STREQ(inputs[1]["ledgers"][0]["level"].GetString(), "driver");
  EXPECT_TRUE(inputs[1]["ledgers"][0]["parent"].IsNull());
  EXPECT_EQ(inputs[1]["ledgers"][1]["parent"].GetInt(), 0);
}

}  // namespace
}  // namespace memtool
