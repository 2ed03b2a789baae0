#include "memtool/profile/answers/buckets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_history.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

Keywords TwoCategories() {
  Dictionary dictionary{.name = "layers", .axes = {{.name = "", .categories = {}}}};
  dictionary.axes[0].categories = {{.name = "Output", .words = {*ParseWord("cls")}},
                                   {.name = "RNN", .words = {*ParseWord("rnn")}},
                                   {.name = "Never", .words = {*ParseWord("nosuch")}}};
  return *Keywords::Compile(std::move(dictionary));
}

Selection TagLog(std::string_view name = "log") {
  return *Select(
      std::make_shared<const Recording>(test::ProfileMaker()
                                            .Sample("a", {1, 100}, "tag=rnn_weight device=gpu:0")
                                            .Sample("b", {2, 30}, "tag=rnn_cls device=gpu:0")
                                            .Sample("c", {1, 7}, "tag=cls_forward device=gpu:1")
                                            .Sample("d", {1, 63}, "tag=unknown device=gpu:1")
                                            .Finish()),
      {.name = std::string(name)});
}

// "bucket bytes count+entries listed+more of more_bytes"
Texts BucketTexts(const std::vector<BucketRow>& rows) {
  Texts texts;
  for (const BucketRow& row : rows) {
    texts.push_back(fmt::format("{} {} {} {}+{} of {}", row.name, row.sum.bytes, row.sum.count,
                                row.entries.size(), row.more_entries, row.more_bytes));
  }
  return texts;
}

TEST(BucketsAnswer, RowsGoBySizeAndSumToTheTotal) {
  const Keywords keywords = TwoCategories();
  const auto answer = Buckets(TagLog(), keywords, {.entries = 1});
  ASSERT_TRUE(answer);
  EXPECT_THAT(BucketTexts(answer->rows), ElementsAre("RNN 100 1 1+0 of 0", "Output 37 3 1+1 of 7",
                                                     "Never 0 0 0+0 of 0", "Others 63 1 1+0 of 0"));
  EXPECT_EQ(answer->total, 200);
  EXPECT_EQ(answer->whole, 200);
  EXPECT_EQ(answer->dictionary, "layers");
  EXPECT_TRUE(answer->rows[2].is_empty());
  ASSERT_EQ(answer->axes.size(), 1U);
  EXPECT_EQ(answer->axes[0].others, 63);
  EXPECT_EQ(answer->axes[0].ambiguous, 30);
  // 63 of 200 are lost, more than 30 %; that row is called unknown.
  EXPECT_EQ(answer->axes[0].lost, BucketsAxis::Lost::kUnnamed);
  EXPECT_EQ(answer->unnamed, 63);
  EXPECT_THAT(answer->greedy_words, IsEmpty());
  EXPECT_THAT(answer->idle_words, ElementsAre("nosuch"));
  EXPECT_FALSE(answer->over);
}

TEST(BucketsAnswer, WhatIsExpectedBeyondTheRowsIsUntrackable) {
  const Keywords keywords = TwoCategories();
  const auto answer = Buckets(TagLog(), keywords, {.expected = Quantity{.bytes = 500}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->untrackable, 300);
  EXPECT_EQ(answer->whole, 500);
  EXPECT_EQ(answer->rows.back().kind, BucketRow::Kind::kUntracked);
  EXPECT_EQ(answer->rows.back().sum.bytes, 300);
  EXPECT_FALSE(answer->over);

  const auto tracked =
      Buckets(TagLog(), keywords, {.expected = Quantity{.bytes = 500}, .share_of_tracked = true});
  EXPECT_EQ(tracked->whole, 200);
}

TEST(BucketsAnswer, MoreThanExpectedHasAReason) {
  const Keywords keywords = TwoCategories();
  const auto devices = Buckets(TagLog(), keywords, {.expected = Quantity{.bytes = 150}});
  ASSERT_TRUE(devices && devices->over);
  EXPECT_EQ(devices->over->bytes, 50);
  EXPECT_EQ(devices->over->reason, OverAccount::Reason::kDevices);
  EXPECT_EQ(devices->devices, 2U);

  BucketsMaker maker(keywords, {.expected = Quantity{.bytes = 150}});
  ASSERT_TRUE(maker.Add(TagLog()));
  ASSERT_TRUE(maker.Add(TagLog()));
  EXPECT_EQ(maker.Make().over->reason, OverAccount::Reason::kInputs);

  // Less than rounding at the source is not a contradiction.
  const auto close =
      Buckets(TagLog(), keywords, {.expected = Quantity{.bytes = 150, .precision = 50}});
  EXPECT_FALSE(close->over);
  EXPECT_EQ(close->untrackable, -50);
}

TEST(BucketsAnswer, InputsApartAreInTheDictionarysOrder) {
  const Keywords keywords = TwoCategories();
  BucketsMaker maker(keywords, {.expected = Quantity{.bytes = 500}, .apart = true});
  ASSERT_TRUE(maker.Add(TagLog("one")));
  ASSERT_TRUE(maker.Add(TagLog("two")));
  const BucketsAnswer answer = maker.Make();
  EXPECT_EQ(answer.total, 400);
  EXPECT_EQ(answer.untrackable, 100);
  ASSERT_EQ(answer.parts.size(), 2U);
  EXPECT_EQ(answer.parts[1].input, "two");
  EXPECT_EQ(answer.parts[1].total, 200);
  EXPECT_EQ(answer.parts[1].whole, 500);
  EXPECT_THAT(BucketTexts(answer.parts[1].rows),
              ElementsAre("Output 37 3 0+2 of 37", "RNN 100 1 0+1 of 100", "Never 0 0 0+0 of 0",
                          "Others 63 1 0+1 of 63", "Untrackable 300 0 0+0 of 0"));
}

TEST(BucketsAnswer, ExplainsABucket) {
  const Keywords keywords = TwoCategories();
  BucketsMaker maker(keywords, {.explain = "Output"});
  ASSERT_TRUE(maker.Add(TagLog()));
  const ExplainAnswer answer = maker.Explain();
  EXPECT_EQ(answer.total, 200);
  ASSERT_EQ(answer.rows.size(), 2U);
  EXPECT_EQ(answer.rows[0].matched, "rnn_cls");
  EXPECT_EQ(answer.rows[0].also, "RNN");
  std::string json;
  WriteJsonLines(MakeView(answer), 1, [&json](std::string_view bytes) { json += bytes; });
  EXPECT_EQ(json, R"({"bytes":30,"count":2,"axis":"","bucket":"Output","word":"cls",)"
                  R"("matched":"rnn_cls","entry":"rnn_cls","also":"RNN"})"
                  "\n");
}

// Four parameters from before the recording, of which a pass leaves three gradients.
TEST(BucketsAnswer, EvidenceOfWhatWasThereBefore) {
  RecordingBuilder builder;
  const StringId name = builder.Intern("torch::autograd::AccumulateGrad::apply");
  const Line line{.function = builder.AddFunction({.name = name, .system_name = name})};
  const StackId stack = builder.AddStack(std::array{builder.AddLocation({}, std::array{line})});
  std::vector<Event> events;
  std::vector<Block> blocks;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const auto size = static_cast<std::int64_t>(i * 1000);
    blocks.push_back(
        {.address = i << 20U, .size = size, .requested = size, .state = BlockState::kActive});
    if (i < 4) {
      events.push_back({.key = i << 30U, .size = size, .stack = stack, .action = Action::kAlloc});
      blocks.push_back(
          {.address = i << 30U, .size = size, .requested = size, .state = BlockState::kActive});
    }
  }
  Dictionary dictionary{.name = "d", .axes = {{.name = "", .categories = {}}}};
  dictionary.axes[0].categories = {
      {.name = "Parameters", .words = {*ParseWord("label:use=parameter")}},
      {.name = "Unknown", .words = {*ParseWord("(before recording)")}}};
  const Keywords keywords = *Keywords::Compile(std::move(dictionary));
  const Selection selection =
      *Select(std::make_shared<const Recording>(test::MakeRecording(
                  test::BuildHistory(std::move(events)), test::InOneSegment(std::move(blocks), 0),
                  std::move(builder))),
              {});
  const auto answer = Buckets(selection, keywords, {});
  ASSERT_TRUE(answer);
  EXPECT_THAT(BucketTexts(answer->rows),
              ElementsAre("Parameters 6000 3 0+1 of 6000", "Unknown 4000 1 0+1 of 4000",
                          "Others 6000 3 0+1 of 6000"));
  ASSERT_EQ(answer->bases.size(), 1U);
  EXPECT_EQ(answer->bases[0].device, "0");
  EXPECT_EQ(answer->bases[0].kinds.matched, 3U);
  std::string json;
  WriteJson(MakeView(*answer), 0, [&json](std::string_view bytes) { json += bytes; });
  EXPECT_THAT(json, ::testing::HasSubstr(R"("gradients":3)"));
  EXPECT_THAT(json, ::testing::HasSubstr(R"("confidence":"high")"));
}

TEST(BucketsAnswer, AsJson) {
  const Keywords keywords = TwoCategories();
  const auto answer =
      Buckets(TagLog(), keywords, {.expected = Quantity{.bytes = 500}, .entries = 1});
  ASSERT_TRUE(answer);
  std::string json;
  WriteJson(MakeView(*answer), 0, [&json](std::string_view bytes) { json += bytes; });
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(json.c_str()).HasParseError()) << json;
  EXPECT_STREQ(document["schema"].GetString(), "memtool.buckets/1");
  EXPECT_EQ(document["total"].GetInt64(), 200);
  EXPECT_EQ(document["untrackable"].GetInt64(), 300);
  EXPECT_EQ(document["dictionary"].GetString(), keywords.dictionary().name);
  EXPECT_EQ(document["rows"].Size(), 5U);
  EXPECT_STREQ(document["rows"][1]["entries"][0]["name"].GetString(), "rnn_cls");
  EXPECT_TRUE(document["rows"][4]["count"].IsNull());
}

}  // namespace
}  // namespace memtool
