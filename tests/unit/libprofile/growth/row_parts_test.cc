// Rows are judged as a whole where their lines and devices do alike, and else in parts.
#include "memtool/profile/growth/row_parts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace memtool {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Series = std::vector<std::int64_t>;

const Series kGrows{10, 20, 30, 40, 50, 60};
const Series kFalls{60, 50, 40, 30, 20, 10};
const Series kOnce{0, 70, 70, 70, 70, 70};
const Series kStays{5, 5, 5, 5, 5, 5};
const Series kNoise{30, 90, 10, 80, 20, 50};

RowPart Part(std::int64_t line, Series series, std::uint32_t device = 0) {
  RowPart part;
  part.row.name = "f";
  part.row.file = "a.py";
  part.row.line = line;
  part.row.series = std::move(series);
  part.device = device;
  return part;
}

// "line and more: first … last, device"
std::vector<std::string> Join(std::vector<RowPart> parts,
                              const std::vector<SharedText>& devices = {"device 0"}) {
  std::vector<std::string> texts;
  for (const GrowthRow& row : JoinParts(std::move(parts), devices)) {
    texts.push_back(fmt::format("{} and {}: {} … {} {}", row.line, row.more_lines,
                                row.series.front(), row.series.back(), row.device.view()));
  }
  return texts;
}

TEST(JoinParts, KeepsLinesTogetherThatDoAlike) {
  EXPECT_THAT(Join({Part(3, kGrows), Part(7, kGrows)}), ElementsAre("3 and 1: 20 … 120 "));
  EXPECT_THAT(Join({Part(3, kOnce), Part(7, {0, 0, 0, 8, 8, 8})}), ElementsAre("3 and 1: 0 … 78 "));
  EXPECT_THAT(Join({Part(3, kNoise), Part(7, kOnce)}), ElementsAre("7 and 1: 30 … 120 "));
}

// The place is the line that grows, also where another one holds more.
TEST(JoinParts, PlacesARowAtTheLineThatGrows) {
  EXPECT_THAT(Join({Part(3, Series(6, 900)), Part(7, kGrows)}), ElementsAre("7 and 1: 910 … 960 "));
  EXPECT_THAT(Join({Part(3, Series(6, 900)), Part(7, kFalls)}), ElementsAre("7 and 1: 960 … 910 "));
  EXPECT_THAT(Join({Part(3, kStays), Part(7, Series(6, 900))}), ElementsAre("7 and 1: 905 … 905 "));
}

TEST(JoinParts, SetsLinesApartThatDoNot) {
  EXPECT_THAT(Join({Part(11, kGrows), Part(17, kOnce)}),
              UnorderedElementsAre("11 and 0: 10 … 60 ", "17 and 0: 0 … 70 "));
  EXPECT_THAT(Join({Part(11, kGrows), Part(17, kFalls)}),
              UnorderedElementsAre("11 and 0: 10 … 60 ", "17 and 0: 60 … 10 "));
  EXPECT_THAT(Join({Part(11, kGrows), Part(17, kNoise)}),
              UnorderedElementsAre("11 and 0: 10 … 60 ", "17 and 0: 30 … 50 "));
}

// What moves by less than a hundredth says nothing; two or three points do not tell lines apart.
TEST(JoinParts, TakesLittleForNothing) {
  EXPECT_THAT(
      Join({Part(11, {0, 1000, 2000, 3000, 4000, 5000}), Part(17, {0, 49, 49, 49, 49, 49})}),
      ElementsAre("11 and 1: 0 … 5049 "));
  EXPECT_THAT(Join({Part(11, {1, 2, 3}), Part(17, {0, 9, 9})}), ElementsAre("17 and 1: 1 … 12 "));
}

TEST(JoinParts, JudgesDevicesApart) {
  const std::vector<SharedText> two{"device 0", "device 1"};
  EXPECT_THAT(Join({Part(3, kGrows, 0), Part(3, kGrows, 1)}, two),
              ElementsAre("3 and 0: 20 … 120 "));
  EXPECT_THAT(Join({Part(3, kGrows, 0), Part(3, kFalls, 1)}, two),
              UnorderedElementsAre("3 and 0: 10 … 60 device 0", "3 and 0: 60 … 10 device 1"));
  // One that stands still is no part of what another does.
  EXPECT_THAT(Join({Part(3, kGrows, 0), Part(3, kStays, 1)}, two),
              UnorderedElementsAre("3 and 0: 10 … 60 device 0", "3 and 0: 5 … 5 "));
  // Lines do alike on all devices: a row for each line.
  EXPECT_THAT(
      Join({Part(3, kGrows, 0), Part(3, kGrows, 1), Part(9, kOnce, 0), Part(9, kOnce, 1)}, two),
      UnorderedElementsAre("3 and 0: 20 … 120 ", "9 and 0: 0 … 140 "));
}

TEST(JoinParts, CountsWhatIsKeptOverAllParts) {
  std::vector<RowPart> parts{Part(3, kGrows), Part(7, kGrows)};
  parts[0].kept = {1, 0, 0, 1, 0, 0};
  parts[1].kept = {0, 1, 0, 1, 0, 2};
  const std::vector<SharedText> one{"device 0"};
  const std::vector<GrowthRow> rows = JoinParts(std::move(parts), one);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].retained->bytes, 6);
  EXPECT_EQ(rows[0].retained->steps, 4);
  EXPECT_EQ(rows[0].retained->early_steps, 3);
}

}  // namespace
}  // namespace memtool
