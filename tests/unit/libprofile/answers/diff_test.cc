// What grew, as an answer: totals, counts of rows, what stayed, and the gate.
#include "memtool/profile/answers/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;

std::vector<Selection> OneInput(Recording recording) {
  SelectOptions options{.name = "side"};
  options.filter = std::make_shared<const Filter>(*Filter::Compile(test::AllFrames()));
  std::vector<Selection> side;
  side.push_back(*Select(std::move(recording), std::move(options)));
  return side;
}

// 100 bytes: same 40, grown 20, gone 30, steady 10.
std::vector<Selection> Base() {
  return OneInput(ProfileMaker()
                      .Sample("main;same@m.py:3", {1, 40})
                      .Sample("main;grown", {1, 20})
                      .Sample("main;gone", {1, 30})
                      .Sample("main;steady", {1, 10})
                      .Finish());
}

// 150 bytes: same 40, grown 65, fresh 35, steady 10.
std::vector<Selection> Now() {
  return OneInput(ProfileMaker()
                      .Sample("main;same@m.py:3", {1, 40})
                      .Sample("main;grown", {2, 65})
                      .Sample("main;fresh", {1, 35})
                      .Sample("main;steady", {1, 10})
                      .Finish());
}

std::vector<std::string> Rows(const DiffAnswer& answer) {
  std::vector<std::string> rows;
  for (const DiffRow& row : answer.rows) {
    rows.push_back(row.name.str() + " " + std::to_string(row.delta()) + " " +
                   std::string(DiffStatusName(row.status)));
  }
  return rows;
}

TEST(Diff, TellsWhatChangedAndWhatStayed) {
  const DiffAnswer answer = Diff(Base(), Now(), {});
  EXPECT_THAT(Rows(answer), ElementsAre("grown 45 changed", "fresh 35 new", "gone -30 gone"));
  EXPECT_EQ(answer.base_total, 100);
  EXPECT_EQ(answer.new_total, 150);
  EXPECT_EQ(answer.total, 50);
  EXPECT_DOUBLE_EQ(answer.growth, 0.5);
  EXPECT_EQ(answer.grew, 2);
  EXPECT_EQ(answer.shrank, 1);
  EXPECT_EQ(answer.new_rows, 1);
  EXPECT_EQ(answer.gone_rows, 1);
  EXPECT_EQ(answer.unchanged.amount, 50);
  EXPECT_EQ(answer.unchanged.rows, 2U);
  ASSERT_TRUE(answer.unchanged.largest.has_value());
  EXPECT_EQ(answer.unchanged.largest->name, "same");
  EXPECT_EQ(answer.unchanged.largest->line, 3);
  EXPECT_EQ(answer.head.inputs.size(), 2U);
  EXPECT_EQ(answer.head.sample_type, "space");
}

TEST(Diff, ByCumAlsoHasRowsThatOnlyPassMemoryOn) {
  const DiffAnswer answer = Diff(Base(), Now(), {.by = {}, .sort = SortBy::kCum});
  ASSERT_FALSE(answer.rows.empty());
  EXPECT_EQ(answer.rows[0].name, "main");
  EXPECT_EQ(answer.rows[0].delta(), 0);
  EXPECT_EQ(answer.rows[0].delta_cum(), 50);
}

TEST(Diff, NormalizeScalesTheNewSideToTheBase) {
  const auto make = [](std::int64_t bytes) {
    return OneInput(ProfileMaker().Sample("a", {1, bytes}).Sample("b", {1, bytes * 3}).Finish());
  };
  const DiffAnswer answer = Diff(make(10), make(70), {.by = {}, .normalize = true});
  EXPECT_EQ(answer.new_total, 40);
  EXPECT_TRUE(answer.rows.empty());
  EXPECT_EQ(answer.unchanged.amount, 40);
}

TEST(Diff, TheGateIsOpenUpToItsLimit) {
  const auto gate = [](GrowthLimit limit) {
    return Diff(Base(), Now(), {.by = {}, .limit = limit}).gate;
  };
  EXPECT_EQ(gate({}), GrowthGate::kNone);
  EXPECT_EQ(gate({.ratio = 0.5}), GrowthGate::kWithin);
  EXPECT_EQ(gate({.ratio = 0.49}), GrowthGate::kExceeded);
  EXPECT_EQ(gate({.amount = 50}), GrowthGate::kWithin);
  EXPECT_EQ(gate({.amount = 49}), GrowthGate::kExceeded);
  EXPECT_EQ(Diff(Now(), Base(), {.by = {}, .limit = {.ratio = 0.0, .amount = 0}}).gate,
            GrowthGate::kWithin);
}

TEST(Diff, GrowthFromNothingIsInfinite) {
  EXPECT_TRUE(std::isinf(GrowthRatio(0, 1)));
  EXPECT_DOUBLE_EQ(GrowthRatio(-10, 5), 0.5);
}

TEST(Diff, IsJsonOfItsSchema) {
  std::string text;
  const DiffAnswer answer = Diff(Base(), Now(), {});
  WriteJson(MakeView(answer), 1, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  json.Parse(text.c_str());
  ASSERT_FALSE(json.HasParseError()) << text;
  EXPECT_STREQ(json["schema"].GetString(), "memtool.diff/1");
  EXPECT_EQ(json["total"].GetInt64(), 50);
  EXPECT_EQ(json["rows_cut"].GetInt64(), 2);
  ASSERT_EQ(json["rows"].Size(), 1U);
  EXPECT_EQ(json["rows"][0]["base"].GetInt64(), 20);
  EXPECT_EQ(json["rows"][0]["new"].GetInt64(), 65);
  EXPECT_TRUE(json["rows"][0]["line"].IsNull());
}

}  // namespace
}  // namespace memtool
