// Functions between their callers and callees.
#include "memtool/profile/answers/tree.h"

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

using testing::ElementsAre;
using testing::IsEmpty;

// 100 bytes: step 70 under train, 10 under test; train itself 20.
std::vector<Selection> SmallTree() {
  SelectOptions options{.name = "input"};
  options.filter = std::make_shared<const Filter>(*Filter::Compile(test::AllFrames()));
  std::vector<Selection> inputs;
  inputs.push_back(*Select(test::ProfileMaker()
                               .Sample("main;train;step", {1, 70})
                               .Sample("main;train", {1, 20})
                               .Sample("main;test;step", {1, 10})
                               .Finish(),
                           std::move(options)));
  return inputs;
}

// "relation name amount" per row; of the function itself flat and cum.
std::vector<std::string> Rows(const TreeAnswer& answer) {
  std::vector<std::string> rows;
  const auto next = answer.source->Rows();
  while (const TreeRow* made = next()) {
    const TreeRow& row = *made;
    rows.push_back(
        row.relation == TreeRelation::kSelf
            ? fmt::format("{} {}/{}", row.name, row.flat.value_or(-1), row.cum.value_or(-1))
            : fmt::format("{} {} {}", TreeRelationName(row.relation), row.name,
                          row.weight.value_or(-1)));
  }
  return rows;
}

TEST(Tree, PutsEachFunctionBetweenCallersAndCallees) {
  const TreeAnswer answer = Tree(SmallTree(), {.functions = 2});
  EXPECT_THAT(Rows(answer), ElementsAre("caller train 70", "caller test 10", "step 80/80",
                                        "caller main 90", "train 20/90", "callee step 70"));
  EXPECT_THAT(answer.blocks, ElementsAre(0U, 3U));
  const auto again = answer.source->Rows();  // each pass begins anew
  EXPECT_EQ(again()->node, "step");
  EXPECT_EQ(answer.functions, 4);
  EXPECT_EQ(answer.total, 100);
}

TEST(Tree, ByCumBeginsAtTheRoot) {
  EXPECT_THAT(Rows(Tree(SmallTree(), {.sort = SortBy::kCum, .functions = 1})),
              ElementsAre("main 0/100", "callee train 90", "callee test 10"));
}

TEST(Tree, OfNamesThatMatch) {
  EXPECT_THAT(Rows(Tree(SmallTree(), {.names = *NamePattern::Compile("^te")})),
              ElementsAre("caller main 10", "test 0/10", "callee step 10"));
  const TreeAnswer none = Tree(SmallTree(), {.names = *NamePattern::Compile("nobody")});
  EXPECT_TRUE(none.blocks.empty());
  EXPECT_THAT(Rows(none), IsEmpty());
  EXPECT_FALSE(NamePattern::Compile("(").has_value());
}

TEST(Tree, JsonHasWholeBlocksWhateverTheLimit) {
  std::string text;
  const TreeAnswer answer = Tree(SmallTree(), {.functions = 1});
  WriteJson(MakeView(answer), 1, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_FALSE(json.HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.tree/1");
  EXPECT_EQ(json["nodes"].GetInt64(), 4);
  EXPECT_EQ(json["rows_cut"].GetInt64(), 0);
  ASSERT_EQ(json["rows"].Size(), 3U);
  EXPECT_TRUE(json["rows"][0]["flat"].IsNull());
  EXPECT_EQ(json["rows"][2]["cum"].GetInt64(), 80);
  EXPECT_STREQ(json["rows"][2]["relation"].GetString(), "self");
}

}  // namespace
}  // namespace memtool
