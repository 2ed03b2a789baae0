#include "memtool/profile/rows/flat_cum.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using test::Top;
using testing::ElementsAre;

std::vector<std::string> Texts(const Tabulator& table) {
  std::vector<std::string> texts;
  for (const Row& row : table.Rows(SortBy::kFlat)) {
    texts.push_back(fmt::format("{} {}:{}", row.name.view(), row.file.view(), row.line) +
                    (row.more_lines > 0 ? fmt::format(" and {}", row.more_lines) : ""));
  }
  return texts;
}

std::vector<std::string> PlacesOf(const Recording& recording) {
  const Filter filter = *Filter::Compile(test::AllFrames());
  const View view(recording, filter);
  const ValueChoice choice = *ChooseValue(recording, "");
  const StackSums sums = SumByStack(view, choice);
  NodeSpace space;
  Tabulator table(*ParseBy("filefunction"), space);
  table.Add({.view = &view, .sums = &sums, .choice = &choice, .name = "x"});
  return Texts(table);
}

TEST(FlatCum, CountsRecursionOnce) {
  const Recording recording =
      ProfileMaker().Sample("main;f;g;f;g;f", {1, 10}).Sample("main;g", {1, 4}).Finish();
  EXPECT_THAT(Top(recording), ElementsAre("f 10 10", "g 4 14", "main 0 14"));
}

// So many stacks that several threads share them, each of which meets every function.
TEST(FlatCum, AddsUpWhatThreadsWalked) {
  ProfileMaker maker;
  std::map<std::string, NodeValue> expected;
  NodeValue main;
  for (int i = 0; i < 70'000; ++i) {
    const std::string leaf = "leaf" + std::to_string(i % 101);
    const std::string caller = "caller" + std::to_string(i % 97);
    const std::int64_t value = i % 13 == 0 ? -i : i;
    maker.Sample(fmt::format("main@m.py:{};{};{}", i % 7, caller, leaf), {1, value});
    expected[leaf].flat += value;
    expected[leaf].cum += value;
    expected[caller].cum += value;
    main.cum += value;
  }
  expected["main"] = main;
  std::vector<std::string> rows;
  rows.reserve(expected.size());
  for (const auto& [name, value] : expected) {
    rows.push_back(fmt::format("{} {} {}", name, value.flat, value.cum));
  }
  EXPECT_THAT(Top(maker.Finish()), testing::UnorderedElementsAreArray(rows));
}

TEST(FlatCum, GivesFlatToTheInnermostInlinedFrame) {
  const Recording recording = ProfileMaker()
                                  .Sample("main;outer+middle+inner", {1, 10})
                                  .Sample("main;outer", {1, 3})
                                  .Finish();
  EXPECT_THAT(Top(recording), ElementsAre("inner 10 10", "outer 3 13", "main 0 13", "middle 0 10"));
}

TEST(FlatCum, SplitsRowsByGranularity) {
  const Recording recording = ProfileMaker()
                                  .Sample("main@m.py:1;load@a.py:2", {1, 10})
                                  .Sample("main@m.py:1;load@b.py:2", {1, 4})
                                  .Sample("main@m.py:9;load@a.py:3", {1, 1})
                                  .Finish();
  EXPECT_THAT(Top(recording, "function"), ElementsAre("load 15 15", "main 0 15"));
  EXPECT_THAT(Top(recording, "filefunction"), ElementsAre("load 11 11", "load 4 4", "main 0 15"));
  EXPECT_THAT(Top(recording, "line"),
              ElementsAre("load 10 10", "load 4 4", "load 1 1", "main 0 14", "main 0 1"));
  EXPECT_THAT(Top(recording, "file"), ElementsAre("a.py 11 11", "b.py 4 4", "m.py 0 15"));
}

// Code in no function is a row per line; other rows say how many lines they have.
TEST(FlatCum, SplitsScriptsAndCellsByLine) {
  const Recording recording = ProfileMaker()
                                  .Sample("<module>@script.py:8", {1, 10})
                                  .Sample("<module>@script.py:11", {1, 12})
                                  .Sample("<module>@script.py:20;load@a.py:2", {1, 3})
                                  .Sample("<module>@script.py:20;load@a.py:4", {1, 5})
                                  .Sample("<cell line: 1>@<ipython-input-3-ab>:2", {1, 2})
                                  .Sample("<cell line: 1>@<ipython-input-3-ab>:5", {1, 1})
                                  .Finish();
  EXPECT_THAT(Top(recording, "filefunction"),
              ElementsAre("<module> 12 12", "<module> 10 10", "load 8 8", "<cell line: 1> 2 2",
                          "<cell line: 1> 1 1", "<module> 0 8"));
  EXPECT_THAT(Top(recording, "function"),
              ElementsAre("<module> 22 30", "load 8 8", "<cell line: 1> 3 3"));
  EXPECT_THAT(PlacesOf(recording),
              ElementsAre("<module> script.py:11", "<module> script.py:8", "load a.py:4 and 1",
                          "<cell line: 1> <ipython-input-3-ab>:2",
                          "<cell line: 1> <ipython-input-3-ab>:5", "<module> script.py:20"));
}

// Lines are the same ones in every input, and one that only passes memory on is placed by that.
TEST(FlatCum, PlacesRowsOfSeveralInputsByTheirSums) {
  const Recording one = ProfileMaker()
                            .Sample("main@m.py:3;f@a.py:1", {1, 10})
                            .Sample("main@m.py:4;f@a.py:2", {1, 7})
                            .Finish();
  const Recording two =
      ProfileMaker().Sample("main@m.py:4;f@a.py:2", {1, 7}).Sample("main@m.py:5", {1, 0}).Finish();
  NodeSpace space;
  Tabulator table(*ParseBy("filefunction"), space);
  const Filter filter = *Filter::Compile(test::AllFrames());
  for (const Recording* recording : {&one, &two}) {
    const View view(*recording, filter);
    const ValueChoice choice = *ChooseValue(*recording, "");
    const StackSums sums = SumByStack(view, choice);
    table.Add({.view = &view, .sums = &sums, .choice = &choice, .name = "x"});
  }
  EXPECT_THAT(Texts(table), ElementsAre("f a.py:2 and 1", "main m.py:4 and 1"));
}

TEST(FlatCum, KeepsSamplesWithoutStackAndWithoutSymbol) {
  const Recording recording = ProfileMaker()
                                  .Sample("", {1, 7})
                                  .Sample("main;!/opt/libx.so", {1, 5})
                                  .Sample("main;!/opt/libx.so", {1, 1})
                                  .Finish();
  EXPECT_THAT(Top(recording), ElementsAre("(no stack) 7 7", "[libx.so] 6 6", "main 0 6"));
}

TEST(FlatCum, LeavesOutRowsThatCancel) {
  const Recording recording =
      ProfileMaker().Sample("main;f", {1, 10}).Sample("main;f", {1, -10}).Finish();
  EXPECT_THAT(Top(recording), ElementsAre());
}

TEST(FlatCum, SortsByMagnitudeThenName) {
  const Recording recording =
      ProfileMaker().Sample("b", {1, 10}).Sample("c", {1, -20}).Sample("a", {1, 10}).Finish();
  EXPECT_THAT(Top(recording), ElementsAre("c -20 -20", "a 10 10", "b 10 10"));
}

TEST(Tabulator, SplitsByLabelSizeAndTag) {
  const Recording recording = ProfileMaker()
                                  .Sample("a", {2, 2048}, "device=cuda:0 kind=buffer")
                                  .Sample("b", {1, 512}, "device=cuda:1 kind=buffer")
                                  .Sample("c", {3, 1536}, "kind=buffer")
                                  .Sample("d", {0, 9})
                                  .Finish();
  EXPECT_THAT(Top(recording, "label:device"),
              ElementsAre("cuda:0 2048 2048", "(no device) 1545 1545", "cuda:1 512 512"));
  EXPECT_THAT(Top(recording, "size"),
              ElementsAre("1.00 KiB 2048 2048", "512 B 2048 2048", "(size unknown) 9 9"));
  EXPECT_THAT(Top(recording, "tag"),
              ElementsAre("device=cuda:0 kind=buffer 2048 2048", "kind=buffer 1536 1536",
                          "device=cuda:1 kind=buffer 512 512", "(no labels) 9 9"));
  EXPECT_THAT(Top(recording, "input"), ElementsAre("input 4105 4105"));
}

TEST(Tabulator, RowsSumToTheTotalHoweverTheyAreSplit) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Recording recording = test::RandomProfile(seed);
    std::int64_t total = 0;
    for (const std::int64_t value : recording.profile->values[1]) {
      total += value;
    }
    for (const char* by : {"function", "filefunction", "line", "file", "module", "stack", "tag",
                           "size", "input", "label:device"}) {
      std::int64_t sum = 0;
      for (const std::string& row : Top(recording, by)) {
        const std::size_t end = row.rfind(' ');
        sum += std::stoll(row.substr(row.rfind(' ', end - 1) + 1));
      }
      EXPECT_EQ(sum, total) << by << " seed " << seed;
    }
  }
}

TEST(ParseBy, RefusesOthers) {
  for (const char* text : {"", "functions", "label:", "label", "Stack", "colour"}) {
    const auto by = ParseBy(text);
    ASSERT_FALSE(by.has_value()) << text;
    EXPECT_EQ(by.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace memtool
