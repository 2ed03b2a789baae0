#include "memtool/profile/answers/tags.h"

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

using testing::ElementsAre;

Selection SelectTags(Recording recording) {
  return *Select(std::move(recording), {.name = "input"});
}

Recording TaggedDevices() {
  return test::ProfileMaker()
      .Sample("main;train", {2, 100}, "device=cuda:0 kind=buffer")
      .Sample("main;train", {1, 300}, "device=cuda:1 kind=buffer")
      .Sample("main;load", {4, 50})
      .Finish();
}

std::vector<std::string> Rows(const TagsAnswer& answer) {
  std::vector<std::string> rows;
  for (const TagRow& row : answer.rows) {
    rows.push_back(row.key.str() + "=" + row.value.str() + " " + std::to_string(row.bytes) +
                   " in " + std::to_string(row.count));
  }
  return rows;
}

TEST(Tags, CountASampleForEachOfItsLabels) {
  const TagsAnswer answer = Tags(SelectTags(TaggedDevices()));
  EXPECT_THAT(Rows(answer), ElementsAre("device=cuda:1 300 in 1", "device=cuda:0 100 in 2",
                                        "kind=buffer 400 in 3"));
  EXPECT_EQ(answer.total, 450);
  EXPECT_EQ(answer.unknown, 0);
}

TEST(Tags, AddUpInputs) {
  TagsMaker maker;
  maker.Add(SelectTags(TaggedDevices()));
  maker.Add(SelectTags(TaggedDevices()));
  const TagsAnswer answer = std::move(maker).Make();
  EXPECT_THAT(Rows(answer), ElementsAre("device=cuda:1 600 in 2", "device=cuda:0 200 in 4",
                                        "kind=buffer 800 in 6"));
  EXPECT_EQ(answer.total, 900);
  EXPECT_EQ(answer.head.inputs.size(), 2U);
}

TEST(Tags, AreJsonOfTheirSchema) {
  std::string text;
  const TagsAnswer answer = Tags(SelectTags(TaggedDevices()));
  WriteJson(MakeView(answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_FALSE(json.HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.tags/1");
  EXPECT_EQ(json["total"].GetInt64(), 450);
  ASSERT_EQ(json["rows"].Size(), 3U);
  EXPECT_STREQ(json["rows"][1]["value"].GetString(), "cuda:0");
}

}  // namespace
}  // namespace memtool
