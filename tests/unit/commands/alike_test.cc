#include "rows/alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace memtool::commands {
namespace {

using testing::ElementsAre;

// An address, bytes, and what holds them.
TextTable Blocks(const std::vector<std::pair<std::int64_t, std::string>>& blocks) {
  TextTable table;
  table.columns = {{"ADDRESS"}, {"SIZE"}, {"BY"}};
  table.measure = 1;
  for (const auto& [bytes, by] : blocks) {
    table.rows.push_back({"at " + std::to_string(table.rows.size()), Amount{bytes}, by});
  }
  return table;
}

AlikeRule Rule(bool adjacent = false, std::size_t limit = 0) {
  return {.own = {0}, .adjacent = adjacent, .limit = limit, .say = [](const AlikeRows& rows) {
            return std::to_string(rows.count) + " from " + std::get<std::string>(rows.first[0]) +
                   " to " + std::get<std::string>(rows.last[0]);
          }};
}

std::vector<std::string> Firsts(const TextTable& table) {
  std::vector<std::string> firsts;
  for (const auto& row : table.rows) {
    firsts.push_back(std::get<std::string>(row[0]));
  }
  return firsts;
}

TEST(JoinAlike, TakesThreeOrMoreWhereverTheyStand) {
  TextTable table = Blocks({{8, "f"}, {4, "g"}, {8, "f"}, {4, "h"}, {4, "g"}, {8, "f"}});
  JoinAlike(Rule(), table);
  EXPECT_THAT(Firsts(table), ElementsAre("3 from at 0 to at 5", "at 1", "at 3", "at 4"));
}

TEST(JoinAlike, TakesNeighboursOnlyWhereOrderCounts) {
  TextTable table =
      Blocks({{8, "f"}, {8, "f"}, {4, "g"}, {8, "f"}, {8, "f"}, {8, "f"}, {8, "f"}, {4, "g"}});
  JoinAlike(Rule(true), table);
  EXPECT_THAT(Firsts(table), ElementsAre("at 0", "at 1", "at 2", "4 from at 3 to at 6", "at 7"));
}

TEST(JoinAlike, CountsWhatTheLimitCuts) {
  TextTable table = Blocks({{9, "f"}, {8, "f"}, {2, "g"}, {2, "g"}, {2, "g"}, {1, "h"}});
  JoinAlike(Rule(false, 2), table);
  EXPECT_THAT(Firsts(table), ElementsAre("at 0", "at 1"));
  EXPECT_EQ(table.skipped_rows, 4U);
  EXPECT_EQ(table.skipped_amount, 7);
}

TEST(DropZeros, TakesOutRowsThatAreZeroInAllColumns) {
  TextTable table;
  table.columns = {{"FIRST"}, {"LAST"}, {"BY"}};
  table.rows = {{Amount{0}, Amount{0}, "f"}, {Amount{0}, Amount{5}, "g"}, {Cell(), Amount{0}, "h"}};
  EXPECT_EQ(DropZeros(std::array<std::size_t, 2>{0, 1}, table), 1U);
  EXPECT_EQ(table.rows.size(), 2U);
}

}  // namespace
}  // namespace memtool::commands
