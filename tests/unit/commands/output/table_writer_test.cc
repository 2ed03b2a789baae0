#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "output/escape.h"
#include "output/writers.h"

namespace memtool::commands {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TextTable Sample(std::size_t rows) {
  TextTable table;
  table.head = {"one input"};
  table.foot = {"one note"};
  table.columns = {{"FLAT"}, {"FLAT%"}, {"WHERE", true, true}, {"PLACE", true, true}, {""}};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    table.rows.push_back({Amount{n << 20U}, Percent{0.25}, "name" + std::to_string(n),
                          std::string(), i == 0 ? Cell(std::monostate{}) : Cell(n)});
  }
  return table;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Table(const TextTable& table, const TableStyle& style = {}) {
  StringSink sink;
  WriteTable(table, style, sink);
  return Lines(sink.text());
}

TEST(WriteTable, AlignsColumnsAndLeavesOutEmptyOnes) {
  EXPECT_THAT(Table(Sample(3)),
              ElementsAre("one input", "    FLAT   FLAT%   WHERE", "1.00 MiB   25.0%   name1",
                          "2.00 MiB   25.0%   name2", "3.00 MiB   25.0%   name3", "one note"));
}

TEST(WriteTable, OfNoRowsIsHeadAndFoot) {
  EXPECT_THAT(Table(Sample(0)), ElementsAre("one input", "one note"));
  EXPECT_THAT(Table(Sample(0), {.limit = 5, .width = 80}), ElementsAre("one input", "one note"));
}

TEST(WriteTable, SaysWhatItCut) {
  EXPECT_THAT(Table(Sample(5), {.limit = 3}),
              testing::Contains("… 2 more rows with 9.00 MiB (-n 0 shows all)"));
  EXPECT_THAT(Table(Sample(4), {.limit = 3}),
              testing::Contains("… 1 more row with 4.00 MiB (-n 0 shows all)"));
  EXPECT_THAT(Table(Sample(3), {.limit = 3}), Not(testing::Contains(HasSubstr("more row"))));
  TextTable counts = Sample(5);
  counts.measure = 2;  // names have no amount
  EXPECT_THAT(Table(counts, {.limit = 3}), testing::Contains("… 2 more rows (-n 0 shows all)"));
}

TEST(WriteTable, FitsTheTerminal) {
  TextTable table = Sample(3);
  table.rows[0][2] = "a/" + std::string(300, 'x') + "/tail";
  table.rows[1][2] = [] {
    std::string wide;
    for (int i = 0; i < 100; ++i) {
      wide += "漢";
    }
    return wide;
  }();
  table.rows[2][3] = "some/" + std::string(100, 'y') + ".py:12";
  for (const unsigned width : {80U, 200U}) {
    const auto lines = Table(table, {.width = width});
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      EXPECT_LE(DisplayWidth(lines[i]), width) << lines[i];
    }
    EXPECT_THAT(lines[2], HasSubstr("…"));
    EXPECT_THAT(lines[2], HasSubstr("/tail"));
    EXPECT_THAT(lines[2], HasSubstr("1.00 MiB"));  // numbers are never cut
  }
  // Without a terminal only monsters are cut.
  for (const std::string& line : Table(table)) {
    EXPECT_LE(DisplayWidth(line), 350U);
  }
}

TEST(WriteTable, LinesOfACellFitTheTerminal) {
  TextTable table;
  table.columns = {
      {"SIZE"}, {.title = "WHEN", .drop = 1}, {.title = "BY", .left = true, .lines = true}};
  const std::string deep = std::string(100, 'f') + "  file.py:1\n" + std::string(60, 'g');
  table.rows = {{Amount{.value = 1024}, std::string(30, 'w'), deep}};
  StringSink out;
  WriteTable(table, {.width = 60}, out);
  std::size_t lines = 0;
  for (std::string_view text = out.text(); !text.empty(); ++lines) {
    const std::size_t end = text.find('\n');
    EXPECT_LE(DisplayWidth(text.substr(0, end)), 60U) << text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  EXPECT_EQ(lines, 4U);
  EXPECT_EQ(out.text().substr(0, out.text().find('\n')), "    SIZE   BY");  // WHEN gives way
  EXPECT_THAT(out.text(),
              testing::EndsWith("… column hidden: WHEN (wider terminal, or --columns)\n"));
}

// The least important columns are dropped first, and the table says so.
TEST(WriteTable, SaysWhichColumnsItHides) {
  TextTable table;
  table.columns = {{"SIZE"},
                   {.title = "SHARE", .drop = 1},
                   {.title = "WHERE", .left = true, .shrink = true},
                   {.title = "VIA", .left = true, .shrink = true, .drop = 2}};
  table.rows = {{Amount{2048}, Percent{0.5}, std::string(30, 'w'), std::string(30, 'v')}};
  // A name wants a third of the terminal: 8 + 5 + 22 + 22 and three gaps of 3 are 66.
  EXPECT_THAT(Table(table, {.width = 66}), Not(testing::Contains(HasSubstr("hidden"))));
  EXPECT_THAT(Table(table, {.width = 60}),
              ElementsAre("    SIZE   SHARE   WHERE", "2.00 KiB   50.0%   " + std::string(30, 'w'),
                          "… column hidden: VIA (wider terminal, or --columns)"));
  EXPECT_THAT(Table(table, {.width = 30}),
              ElementsAre("    SIZE   WHERE", "2.00 KiB   wwwwwwwww…wwwwwwwww",
                          "… columns hidden: SHARE, VIA", "  (wider terminal, or", "  --columns)"));
}

// Nothing wraps, however narrow.
TEST(WriteTable, FitsANarrowTerminal) {
  TextTable table;
  table.columns = {{"SIZE"},
                   {.title = "WHERE", .left = true, .shrink = true},
                   {.title = "PLACE", .left = true, .shrink = true, .path = true}};
  table.rows = {{Amount{2048}, std::string(40, 'w'), std::string("a/long_name.py:216")}};
  const auto lines = Table(table, {.width = 31});
  EXPECT_EQ(lines[1], "2.00 KiB   wwww…www   …e.py:216");
}

TEST(WriteTable, ShowsChosenColumnsInTheirOrder) {
  const auto lines = Table(Sample(1), {.columns = {2, 0}});
  EXPECT_THAT(lines, ElementsAre("one input", "WHERE       FLAT", "name1   1.00 MiB", "one note"));
}

TEST(WriteTable, AUnitIsThatOfWhatIsShown) {
  TextTable table;
  table.row_unit = true;
  table.columns = {{"SMALL"}, {.title = "LARGE", .off = true}};
  table.rows = {{Amount{2048}, Amount{std::int64_t{1} << 30}}};
  EXPECT_THAT(Table(table), ElementsAre("   SMALL", "2.00 KiB"));
  EXPECT_THAT(Table(table, {.columns = {0, 1}}),
              ElementsAre("   SMALL      LARGE", "0.00 GiB   1.00 GiB"));
  // A column that is dropped does not influence the unit either.
  table.columns[1] = {.title = "LARGE", .drop = 1};
  EXPECT_THAT(Table(table, {.width = 60}),
              ElementsAre("   SMALL      LARGE", "0.00 GiB   1.00 GiB"));
  EXPECT_EQ(Table(table, {.width = 10})[1], "2.00 KiB");
}

TEST(WriteTable, ColoursGrowth) {
  TextTable table;
  table.columns = {{.title = "DELTA", .growth = true}};
  table.rows = {{Amount{1, true, true}}, {Amount{-1, true, true}}, {Amount{0, true, true}}};
  const auto lines = Table(table, {.palette = Palette(Theme::kDark)});
  EXPECT_EQ(lines[1], " \x1b[38;5;208m+1 B\x1b[0m");
  EXPECT_EQ(lines[2], " \x1b[38;5;36m-1 B\x1b[0m");
  EXPECT_EQ(lines[3], "  0 B");
  for (const std::string& line : Table(table)) {
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  }
}

// Tables too long to hold: the same table, from two passes over a generator.
TEST(WriteTable, StreamedRowsArePrintedAsHeldOnes) {
  TextTable held;
  held.columns = {{"SIZE"}, {.title = "NAME", .left = true, .shrink = true}};
  TextTable given = held;
  for (std::int64_t i = 0; i < 50; ++i) {
    held.rows.push_back({Amount{.value = i * i}, std::string(static_cast<std::size_t>(i), 'x')});
  }
  int passes = 0;
  given.stream = [&](std::span<const std::size_t> /*known*/) {
    ++passes;
    return [&held, i = std::size_t{0}]() mutable {
      return i < held.rows.size() ? &held.rows[i++] : nullptr;
    };
  };
  for (const unsigned width : {0U, 40U}) {
    StringSink one;
    StringSink other;
    WriteTable(held, {.width = width}, one);
    WriteTable(given, {.width = width}, other);
    EXPECT_EQ(one.text(), other.text());
  }
  EXPECT_EQ(passes, 4);
  StringSink one;
  StringSink other;
  WriteMarkdown(held, {}, one);
  WriteMarkdown(given, {}, other);
  EXPECT_EQ(one.text(), other.text());
}

TEST(WriteTable, ColoursOnlyTheTitles) {
  const auto lines = Table(Sample(1), {.palette = Palette(Theme::kDark)});
  EXPECT_EQ(lines[1], "\x1b[1m    FLAT   FLAT%   WHERE\x1b[0m");
  for (const std::string& line : Table(Sample(1))) {
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  }
}

TEST(WriteTable, EscapesHeadFootAndCells) {
  TextTable table = Sample(1);
  table.head = {"\x1b[2Jhead"};
  table.foot = {"foot\n\x07"};
  table.rows[0][2] = std::string("\xe2\x80\xae\x9b\nname");
  EXPECT_THAT(Table(table), ElementsAre("\\x1b[2Jhead", "    FLAT   FLAT%   WHERE",
                                        "1.00 MiB   25.0%   \\u202e\\x9b\\nname", "foot\\n\\x07"));
}

TEST(CellText, WritesEveryKind) {
  EXPECT_EQ(CellText(std::monostate{}, SizeUnit::kAuto), "");
  EXPECT_EQ(CellText(std::string("x"), SizeUnit::kAuto), "x");
  EXPECT_EQ(CellText(std::int64_t{1234}, SizeUnit::kAuto), "1,234");
  EXPECT_EQ(CellText(Amount{2048}, SizeUnit::kAuto), "2.00 KiB");
  EXPECT_EQ(CellText(Amount{2048, true, true}, SizeUnit::kMiB), "+0.00 MiB");
  EXPECT_EQ(CellText(Amount{2048, false, true}, SizeUnit::kMiB), "+2,048");
  EXPECT_EQ(CellText(Amount{kMin}, SizeUnit::kAuto), "-8388608.00 TiB");
  EXPECT_EQ(CellText(Percent{0.123}, SizeUnit::kAuto), "12.3%");
  EXPECT_EQ(CellText(Percent{0.123, true}, SizeUnit::kAuto), "+12.3%");
  EXPECT_EQ(CellText(Percent{44.0, true}, SizeUnit::kAuto), "+4400%");
  const double zero = 0;
  EXPECT_EQ(CellText(Percent{1 / zero}, SizeUnit::kAuto), "–");
  EXPECT_EQ(CellText(Percent{zero / zero}, SizeUnit::kAuto), "–");
}

TEST(RowUnit, FitsTheLargestAmountOfARow) {
  TextTable table = Sample(1);
  const std::vector<Cell> row{Amount{40'000}, Amount{1'800'000}, std::int64_t{1} << 40};
  const std::vector<std::size_t> all{0, 1, 2};
  EXPECT_EQ(RowUnit(table, row, all, SizeUnit::kAuto), SizeUnit::kAuto);
  table.row_unit = true;
  EXPECT_EQ(RowUnit(table, row, all, SizeUnit::kAuto), SizeUnit::kMiB);
  EXPECT_EQ(RowUnit(table, row, all, SizeUnit::kB), SizeUnit::kB);
  EXPECT_EQ(RowUnit(table, row, std::vector<std::size_t>{0}, SizeUnit::kAuto), SizeUnit::kKiB);
  EXPECT_EQ(RowUnit(table, {Amount{kMin}}, std::vector<std::size_t>{0}, SizeUnit::kAuto),
            SizeUnit::kTiB);
}

TEST(WriteMarkdown, EscapesCells) {
  TextTable table = Sample(1);
  table.rows[0][2] = std::string("a|b <module>");
  StringSink sink;
  WriteMarkdown(table, {}, sink);
  EXPECT_THAT(Lines(sink.text()),
              ElementsAre("one input", "", "| FLAT | FLAT% | WHERE | PLACE |",
                          "| ---: | ---: | :--- | :--- |",
                          "| 1.00 MiB | 25.0% | a\\|b &lt;module&gt; |  |", "", "one note"));
}

}  // namespace
}  // namespace memtool::commands
