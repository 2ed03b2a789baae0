// One that is full, one that is quiet, one that did not fail.
#include "memtool/profile/answers/oom_inputs.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_history.h"

namespace memtool {
namespace {

OomInputsAnswer ThreeInputs() {
  const std::deque<OomMessage> full{{.kind = "CUDA",
                                     .line = 9,
                                     .gpu = 0,
                                     .rank = 5,
                                     .asked = OomNumber{450},
                                     .capacity = OomNumber{1000},
                                     .free = OomNumber{100},
                                     .allocated = OomNumber{500},
                                     .unallocated = OomNumber{300}}};
  const std::deque<OomMessage> none;
  OomInputsMaker maker;
  EXPECT_TRUE(maker.Add({.kept = full, .found = 1}, "", "rank5.log"));
  EXPECT_FALSE(maker.Add({.kept = full, .found = 1}, "4", "rank5.log"));
  EXPECT_TRUE(maker.Add({.kept = none}, "", "-"));
  Recording quiet = test::MakeRecording(
      test::HistoryOf({{.key = 0, .size = 100, .action = Action::kAlloc}}),
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

TEST(OomInputs, IsJson) {
  const OomInputsAnswer answer = ThreeInputs();
  std::string text;
  WriteJson(ViewOf(answer), 0, [&text](std::string_view bytes) { text += bytes; });
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
