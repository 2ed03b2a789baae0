#include "memtool/profile/answers/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;

Selection SelectTop(Recording recording) {
  return *Select(std::move(recording), {.name = "input"});
}

Recording Step(std::int64_t loss) {
  return test::ProfileMaker()
      .Sample("main@a.py:1;train@a.py:7;loss@b.py:3", {1, loss})
      .Sample("main@a.py:1;load@c.py:9", {1, 50})
      .Finish();
}

std::vector<std::string> Rows(const TopAnswer& answer) {
  std::vector<std::string> rows;
  for (const TopRow& row : answer.rows) {
    rows.push_back(row.name.str() + " " + row.file.str() + " " + std::to_string(row.flat) + " " +
                   std::to_string(row.cum));
  }
  return rows;
}

TEST(Top, RowsAreFlatFirst) {
  const TopAnswer answer = Top(SelectTop(Step(100)));
  EXPECT_THAT(Rows(answer), ElementsAre("loss b.py 100 100", "load c.py 50 50", "main a.py 0 150",
                                        "train a.py 0 100"));
  EXPECT_EQ(answer.total, 150);
  EXPECT_EQ(answer.unfiltered, 150);
  EXPECT_FALSE(answer.base_total);
}

TEST(Top, BaseIsSubtractedAndSharesAreOfIt) {
  TopMaker maker({});
  maker.Add(SelectTop(Step(130)));
  maker.Add(SelectTop(Step(100)));
  maker.AddBase(SelectTop(Step(100)));
  const TopAnswer answer = std::move(maker).Make();
  // 230 + 100 − (100 + 50).
  EXPECT_EQ(answer.total, 180);
  EXPECT_EQ(answer.new_total, 330);
  EXPECT_EQ(answer.base_total, 150);
  EXPECT_EQ(answer.unfiltered, 150);
  EXPECT_THAT(Rows(answer), ElementsAre("loss b.py 130 130", "load c.py 50 50", "main a.py 0 180",
                                        "train a.py 0 130"));
}

}  // namespace
}  // namespace memtool
