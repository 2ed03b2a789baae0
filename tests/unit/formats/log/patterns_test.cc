#include "log/patterns.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "log/pattern_text.h"
#include "log/statement_scan.h"
#include "memtool/formats/statements.h"

namespace memtool::formats::log {
namespace {

constexpr std::int64_t kMiB = 1048576;

// What a table says of one line, as "amount=value …".
std::string Read(const PatternTable& table, std::string_view line) {
  const PatternTable* const tables[] = {&table};
  StatementScan scan(tables);
  scan.Take({.text = line, .number = 1});
  const Statements found = scan.Finish();
  std::string text;
  for (const Statement& statement : found.list) {
    text += (text.empty() ? "" : " ") + std::string(statement.what().name) + '=' +
            std::to_string(statement.value);
  }
  return text;
}

// The table's own test: each example gives exactly what it says.
TEST(BuiltinPatterns, ExamplesGiveWhatTheySay) {
  const auto table = PatternTable::Parse(BuiltinLogPatterns(), "patterns.yaml");
  ASSERT_TRUE(table) << table.error().input << ": " << table.error().message;
  const auto checked = CheckPatterns(*table);
  EXPECT_TRUE(checked) << checked.error().message << "; " << checked.error().hint;
  std::set<std::string> producers;
  for (const Pattern& pattern : table->patterns()) {
    producers.insert(pattern.producer);
  }
  EXPECT_GE(table->patterns().size(), 80U);
  // What is read of it at run time is the same without them.
  const auto& slim = BuiltinPatterns().patterns();
  ASSERT_EQ(slim.size(), table->patterns().size());
  for (std::size_t row = 0; row < slim.size(); ++row) {
    EXPECT_EQ(slim[row].expression, table->patterns()[row].expression);
    EXPECT_EQ(slim[row].place, table->patterns()[row].place);
    EXPECT_EQ(slim[row].remedy, table->patterns()[row].remedy);
  }
  EXPECT_GE(producers.size(), 14U);
}

// An example that another pattern of the table would take away is found by the same test.
TEST(Patterns, AnExampleThatGivesSomethingElseIsRefused) {
  const auto table = PatternTable::Parse(
      "Mine:\n  held:\n    pattern: \"arena holds {weights}\"\n"
      "    example: \"arena holds 3 MiB\"\n    gives: [weights=4MiB]\n",
      "mine.yaml");
  ASSERT_TRUE(table);
  const auto checked = CheckPatterns(*table);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "mine.yaml:2:3: the example of 'held' gives Mine weights=3145728");
}

// What is wrong with a table.
std::string Refusal(const std::string& text) {
  const auto table = PatternTable::Parse(text, "t.yaml");
  return table ? "accepted" : table.error().input + ": " + table.error().message;
}

TEST(Patterns, WhatIsWrongIsSaidWithItsPlace) {
  const auto refused = [](const std::string& pattern) {
    return Refusal("P:\n  n:\n    pattern: \"" + pattern + "\"\n    example: x\n");
  };
  EXPECT_EQ(refused("arena holds {wieghts}"), "t.yaml:3:14: no amount is called {wieghts}");
  EXPECT_EQ(refused("arena holds {weights"), "t.yaml:3:14: a placeholder that does not end");
  EXPECT_EQ(refused("arena holds {weights furlong}"), "t.yaml:3:14: no unit is called 'furlong'");
  EXPECT_EQ(refused("has {weights} of {total}"),
            "t.yaml:3:14: no fixed text of five characters in one piece");
  EXPECT_EQ(refused("arena holds {#weights}"), "t.yaml:3:14: no amount is called {weights}");
}

TEST(Patterns, ACauseHasItsWords) {
  const auto refused = [](const std::string& fields) {
    return Refusal("P:\n  n: {pattern: \"no room left\", kind: failure, " + fields + "}\n");
  };
  EXPECT_EQ(refused("cause: limit, why: too little is left"), "accepted");
  EXPECT_EQ(refused("cause: lmiit, why: too little is left"),
            "t.yaml:2:54: no cause is called 'lmiit'");
  EXPECT_EQ(refused("cause: limit"), "t.yaml:2:3: 'n' has one of cause and why, not both");
}

TEST(Patterns, WhatHelpsIsThatOfTheFailureAbove) {
  const auto table = PatternTable::Parse(
      "P:\n  a: {pattern: \"no room at all\", kind: failure, try: less}\n"
      "  b: {pattern: \"weights took {weights}\"}\n"
      "  c: {pattern: \"no room either\", kind: failure}\n"
      "Q:\n  d: {pattern: \"no room here\", kind: failure}\n",
      "t.yaml");
  ASSERT_TRUE(table);
  std::string remedies;
  for (const Pattern& pattern : table->patterns()) {
    remedies += pattern.remedy + ',';
  }
  EXPECT_EQ(remedies, "less,,less,,");
}

TEST(Patterns, FixedTextIsNoExpression) {
  const auto table = PatternTable::Parse(
      "P:\n  n:\n    pattern: \"pool (a+b) [x] holds {weights}\"\n    example: x\n", "t.yaml");
  ASSERT_TRUE(table);
  EXPECT_EQ(Read(*table, "pool (a+b) [x] holds 2 KiB"), "weights=2048");
  EXPECT_EQ(Read(*table, "pool (aab) x holds 2 KiB"), "");
}

TEST(Patterns, WhatMayBeMissingIs) {
  const auto table = PatternTable::Parse(
      "P:\n  n:\n    pattern: \"arena holds {weights}((, of {total}))\"\n    example: x\n",
      "t.yaml");
  ASSERT_TRUE(table);
  EXPECT_EQ(Read(*table, "arena holds 1 KiB"), "weights=1024");
  EXPECT_EQ(Read(*table, "arena holds 1 KiB, of 4 KiB"), "weights=1024 total=4096");
}

TEST(ParseAmount, RoundingIsKept) {
  const auto rounded = ParseAmount("15.26", 1024 * kMiB, false);
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->value, 16385300234);  // 15.26 * 2^30, to the nearest byte
  EXPECT_EQ(rounded->above, 5368710);      // half of 0.01 GiB
  EXPECT_EQ(rounded->below, rounded->above);
  const auto cut = ParseAmount("11005", kMiB, true);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->below, 0);
  EXPECT_EQ(cut->above, kMiB);
  const auto exact = ParseAmount("23,139,123,200", 1, false);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->value, 23139123200);
  EXPECT_EQ(exact->above, 0);
}

TEST(ParseAmount, WhatIsNoSizeIsNone) {
  EXPECT_FALSE(ParseAmount("99999999999", 1024 * kMiB, false));
  EXPECT_FALSE(ParseAmount("", kMiB, false));
  EXPECT_FALSE(ParseAmount("1.2.3", kMiB, false));
  EXPECT_EQ(ParseAmount("-0.31", 1024 * kMiB, false)->value, -332859965);
}

TEST(ParseUnit, PowersOf1024ButForOnesOfItsOwn) {
  EXPECT_EQ(ParseUnit("GB"), 1024 * kMiB);
  EXPECT_EQ(ParseUnit("GiB"), 1024 * kMiB);
  EXPECT_EQ(ParseUnit("M"), kMiB);
  EXPECT_EQ(ParseUnit("bytes"), 1);
  EXPECT_EQ(ParseUnit("xB"), 0);
  EXPECT_EQ(UnitOf("GB"), 1000000000);
}

// As a stranger adds a producer.
TEST(ReadLogPatterns, AFileAddsAProducer) {
  const auto path = std::filesystem::temp_directory_path() / "memtool_patterns_test.yaml";
  std::ofstream(path) << "Arena:\n  held:\n    pattern: \"arena {device} holds {weights}\"\n"
                         "    example: \"arena GPU1 holds 3 MiB\"\n    gives: [weights=3MiB]\n";
  const auto table = ReadLogPatterns(path.string());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(Read(**table, "10:00 arena GPU0 holds 7 MiB"), "weights=7340032");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace memtool::formats::log
