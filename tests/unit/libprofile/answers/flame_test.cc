// The tree of calls of a flame graph.
#include "memtool/profile/answers/flame.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/tree.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;

std::vector<Selection> One(Recording recording) {
  SelectOptions options{.name = "input"};
  options.filter = std::make_shared<const Filter>(*Filter::Compile(test::AllFrames()));
  std::vector<Selection> inputs;
  inputs.push_back(*Select(std::move(recording), std::move(options)));
  return inputs;
}

// 100 bytes: step 70 under train, 10 under test; train itself 20.
std::vector<Selection> SmallFlame() {
  return One(test::ProfileMaker()
                 .Sample("main;train;step", {1, 70})
                 .Sample("main;train", {1, 20})
                 .Sample("main;test;step", {1, 10})
                 .Finish());
}

// "depth name total/self begin+width" per row.
std::vector<std::string> Rows(const FlameAnswer& answer) {
  std::vector<std::string> rows;
  for (const FlameRow& row : answer.rows) {
    rows.push_back(fmt::format("{} {} {}/{} {}+{}", row.depth, row.name, row.bytes, row.self,
                               row.begin, row.width));
  }
  return rows;
}

// What holds of every answer: parts add up, and boxes lie within their callers' without overlap.
void CheckSums(const FlameAnswer& answer) {
  std::int64_t self = 0;
  std::vector<std::int64_t> rest;
  std::vector<std::int64_t> ends;
  for (const FlameRow& row : answer.rows) {
    self += row.self + row.left_out;
    rest.push_back(row.bytes - row.self - row.left_out);
    ends.push_back(row.begin);
    if (!row.parent) {
      continue;
    }
    ASSERT_LT(*row.parent, row.id);
    const auto parent = static_cast<std::size_t>(*row.parent);
    rest[parent] -= row.bytes;
    EXPECT_GE(row.begin, ends[parent]);
    ends[parent] = row.begin + row.width;
    EXPECT_LE(ends[parent], answer.rows[parent].begin + answer.rows[parent].width);
  }
  EXPECT_EQ(self, answer.total);
  EXPECT_THAT(rest, testing::Each(0));
}

TEST(Flame, MergesStacksFromTheirOutermostFrame) {
  const FlameAnswer answer = Flame({}, SmallFlame(), {});
  EXPECT_THAT(Rows(answer),
              ElementsAre("0 (all) 100/0 0+100", "1 main 100/0 0+100", "2 test 10/0 0+10",
                          "3 step 10/10 0+10", "2 train 90/20 10+90", "3 step 70/70 10+70"));
  EXPECT_EQ(answer.levels, 3);
  EXPECT_EQ(answer.frames_left_out, 0);
  CheckSums(answer);
}

TEST(Flame, MakesOneOfWhatIsTooNarrowAndCountsWhatIsTooDeepInItsCaller) {
  const FlameAnswer narrow = Flame({}, SmallFlame(), {.min_share = 0.2});
  EXPECT_THAT(Rows(narrow),
              ElementsAre("0 (all) 100/0 0+100", "1 main 100/0 0+100", "2 train 90/20 0+90",
                          "3 step 70/70 0+70", "2 (smaller) 10/10 90+10"));
  EXPECT_EQ(narrow.frames_left_out, 2);
  CheckSums(narrow);
  const FlameAnswer flat = Flame({}, SmallFlame(), {.depth = 2});
  EXPECT_EQ(flat.levels, 2);
  EXPECT_EQ(flat.rows[2].left_out, 10);
  EXPECT_EQ(flat.rows[3].left_out, 70);
  CheckSums(flat);
}

TEST(Flame, GivesWhatIsGoneARoomOfItsOwn) {
  const FlameAnswer answer = Flame(One(test::ProfileMaker()
                                           .Sample("main;gone", {1, 30})
                                           .Sample("main;train;step", {1, 50})
                                           .Finish()),
                                   SmallFlame(), {});
  EXPECT_TRUE(answer.difference);
  EXPECT_EQ(answer.base_total, 80);
  EXPECT_EQ(answer.width, 130);
  CheckSums(answer);
  const auto& rows = answer.rows;
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows[2].name, "gone");
  EXPECT_EQ(rows[2].bytes, 0);
  EXPECT_EQ(rows[2].change(), -30);
  EXPECT_EQ(rows[2].width, 30);
  EXPECT_EQ(rows[6].name, "step");
  EXPECT_EQ(rows[6].base_bytes, 50);
  EXPECT_EQ(rows[6].change(), 20);
}

// Recursion counts once in `cum`, and twice nowhere in `flat`.
TEST(Flame, HasTheFiguresOfTree) {
  const auto inputs = One(test::ProfileMaker()
                              .Sample("main;walk;walk;leaf", {1, 40})
                              .Sample("main;walk;leaf", {1, 5})
                              .Sample("main;other;walk", {1, 3})
                              .Finish());
  const FlameAnswer flame = Flame({}, inputs, {});
  CheckSums(flame);
  std::map<std::string, std::int64_t> self;
  std::map<std::string, std::int64_t> outermost;
  for (const FlameRow& row : flame.rows) {
    self[std::string(row.name)] += row.self;
    bool within = false;
    for (auto up = row.parent; up; up = flame.rows[static_cast<std::size_t>(*up)].parent) {
      within = within || flame.rows[static_cast<std::size_t>(*up)].name == row.name;
    }
    outermost[std::string(row.name)] += within ? 0 : row.bytes;
  }
  const TreeAnswer tree = Tree(inputs, {});
  EXPECT_EQ(flame.total, tree.total);
  const auto next = tree.source->Rows();
  while (const TreeRow* made = next()) {
    const TreeRow& row = *made;
    if (row.relation == TreeRelation::kSelf) {
      EXPECT_EQ(self[std::string(row.node)], row.flat) << row.node;
      EXPECT_EQ(outermost[std::string(row.node)], row.cum) << row.node;
    }
  }
}

TEST(Flame, ShowsNothingOfNothing) {
  const FlameAnswer answer = Flame({}, One(test::ProfileMaker().Finish()), {});
  EXPECT_THAT(Rows(answer), ElementsAre("0 (all) 0/0 0+0"));
}

}  // namespace
}  // namespace memtool
