// One that is full, one that is quiet, one that did not fail.
#include "memtool/profile/answers/oom_inputs.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_history.h"

namespace memtool {
namespace {

OomInputsAnswer ThreeInputs() {
  const std::vector<OomMessage> full{{.kind = "CUDA",
                                      .line = 9,
                                      .gpu = 0,
                                      .rank = 5,
                                      .requested_bytes = OomNumber{450},
                                      .capacity = OomNumber{1000},
                                      .free = OomNumber{100},
                                      .allocated = OomNumber{500},
                                      .unallocated = OomNumber{300}}};
  const std::vector<OomMessage> none;
  OomInputsMaker maker;
  EXPECT_TRUE(maker.Add({.kept = full, .found = 1}, "", "rank5.log"));
  EXPECT_FALSE(maker.Add({.kept = full, .found = 1}, "4", "rank5.log"));
  EXPECT_TRUE(maker.Add({.kept = none}, "", "-"));
  Recording quiet = test::MakeRecording(
      test::BuildHistory({{.key = 0, .size = 100, .action = Action::kAlloc}}),
      test::InOneSegment(
          {{.address = 0, .size = 512, .requested = 100, .state = BlockState::kActive}}, 512));
  maker.Add(*Select(std::move(quiet), {.name = "quiet.pickle"}));
  return std::move(maker).Make();
}

TEST(OomInputs, ARowForEach) {
  const OomInputsAnswer answer = ThreeInputs();
  ASSERT_EQ(answer.rows.size(), 3U);
  EXPECT_EQ(answer.head.inputs.size(), 3U);
  EXPECT_EQ(answer.failed, 1);
  EXPECT_EQ(answer.verdicts, (std::vector<std::pair<std::string, std::int64_t>>{{"full", 1}}));
  EXPECT_EQ(answer.rows[0].failures, 1);
  EXPECT_EQ(answer.rows[1].input, "standard input");
  EXPECT_FALSE(answer.rows[1].found);
  EXPECT_FALSE(answer.rows[2].found->failed);
}

// Of failures that all tell a time the earliest comes first; the name tells the rank.
TEST(OomInputs, AreOrderedByTime) {
  const auto log = [](std::int64_t seconds) {
    return std::vector<OomMessage>{
        {.kind = "CUDA", .time = seconds * 1'000'000'000, .requested_bytes = OomNumber{450}}};
  };
  const std::vector<OomMessage> zero = log(14);
  const std::vector<OomMessage> three = log(10);
  const std::vector<OomMessage> none;
  OomInputsMaker maker;
  EXPECT_TRUE(maker.Add({.kept = zero, .found = 1}, "", "rank0.log"));
  EXPECT_TRUE(maker.Add({.kept = none}, "", "rank1.log"));
  EXPECT_TRUE(maker.Add({.kept = three, .found = 1}, "", "logs/3/stderr.log"));
  const OomInputsAnswer answer = std::move(maker).Make();
  EXPECT_TRUE(answer.by_time);
  EXPECT_EQ(answer.rows[0].input, "logs/3/stderr.log");
  EXPECT_EQ(answer.rows[1].input, "rank0.log");
  EXPECT_EQ(answer.rows[2].input, "rank1.log");
  ASSERT_TRUE(answer.order);
  EXPECT_EQ(answer.order->first, 3);
  EXPECT_EQ(answer.order->next, 0);
  EXPECT_EQ(answer.order->nanos, 4'000'000'000);
}

TEST(OomInputs, WithoutTimesTheOrderStays) {
  const std::vector<OomMessage> timed{
      {.kind = "CUDA", .time = 5, .requested_bytes = OomNumber{450}}};
  const std::vector<OomMessage> untimed{{.kind = "CUDA", .requested_bytes = OomNumber{450}}};
  OomInputsMaker maker;
  EXPECT_TRUE(maker.Add({.kept = untimed, .found = 1}, "", "rank0.log"));
  EXPECT_TRUE(maker.Add({.kept = timed, .found = 1}, "", "rank3.log"));
  const OomInputsAnswer answer = std::move(maker).Make();
  EXPECT_FALSE(answer.by_time);
  EXPECT_EQ(answer.rows[0].input, "rank0.log");
  EXPECT_EQ(answer.rows[1].found->place.rank, 3);
}

TEST(OomInputs, IsJson) {
  const OomInputsAnswer answer = ThreeInputs();
  std::string text;
  WriteJson(MakeView(answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "memtool.oom-inputs/1");
  EXPECT_STREQ(json["sample_type"].GetString(), "memory");
  EXPECT_EQ(json["failed"].GetInt64(), 1);
  const auto& rows = json["rows"];
  EXPECT_STREQ(rows[0]["verdict"].GetString(), "full");
  EXPECT_EQ(rows[0]["short_in_all"].GetInt64(), 50);
  EXPECT_EQ(rows[0]["rank"].GetInt64(), 5);
  EXPECT_EQ(rows[0]["line"].GetInt64(), 9);
  EXPECT_STREQ(rows[1]["verdict"].GetString(), "none");
  EXPECT_TRUE(rows[1]["asked"].IsNull());
  EXPECT_TRUE(rows[2]["short_in_all"].IsNull()) << "nothing was asked";
}

}  // namespace
}  // namespace memtool
