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

Report Sample(std::size_t rows) {
  Report report{.command = "top"};
  report.sample_type = "space";
  report.unit = "bytes";
  report.head = {"one input"};
  report.foot = {"one note"};
  report.columns = {{"flat", "FLAT"},
                    {"", "FLAT%"},
                    {"name", "WHERE", true, true},
                    {"file", "PLACE", true, true},
                    {"line", ""}};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    report.rows.push_back({Amount{n << 20U}, Percent{0.25}, "name" + std::to_string(n),
                           std::string(), i == 0 ? Cell(std::monostate{}) : Cell(n)});
  }
  return report;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Table(const Report& report, const TableStyle& style = {}) {
  StringSink sink;
  WriteTable(report, style, sink);
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
  Report counts = Sample(5);
  counts.measure = 2;  // names have no amount
  EXPECT_THAT(Table(counts, {.limit = 3}), testing::Contains("… 2 more rows (-n 0 shows all)"));
}

TEST(WriteTable, FitsTheTerminal) {
  Report report = Sample(3);
  report.rows[0][2] = "a/" + std::string(300, 'x') + "/tail";
  report.rows[1][2] = [] {
    std::string wide;
    for (int i = 0; i < 100; ++i) {
      wide += "漢";
    }
    return wide;
  }();
  report.rows[2][3] = "some/" + std::string(100, 'y') + ".py:12";
  for (const unsigned width : {80U, 200U}) {
    const auto lines = Table(report, {.width = width});
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      EXPECT_LE(DisplayWidth(lines[i]), width) << lines[i];
    }
    EXPECT_THAT(lines[2], HasSubstr("…"));
    EXPECT_THAT(lines[2], HasSubstr("/tail"));
    EXPECT_THAT(lines[2], HasSubstr("1.00 MiB"));  // numbers are never cut
  }
  // Without a terminal only monsters are cut.
  for (const std::string& line : Table(report)) {
    EXPECT_LE(DisplayWidth(line), 350U);
  }
}

TEST(WriteTable, LinesOfACellFitTheTerminal) {
  Report report{.command = "events", .unit = "bytes"};
  report.columns = {{"size", "SIZE"},
                    {.key = "when", .title = "WHEN", .drop = 1},
                    {.key = "", .title = "BY", .left = true, .lines = true}};
  const std::string deep = std::string(100, 'f') + "  file.py:1\n" + std::string(60, 'g');
  report.rows = {{Amount{.value = 1024}, std::string(30, 'w'), deep}};
  StringSink out;
  WriteTable(report, {.width = 60}, out);
  std::size_t lines = 0;
  for (std::string_view text = out.text(); !text.empty(); ++lines) {
    const std::size_t end = text.find('\n');
    EXPECT_LE(DisplayWidth(text.substr(0, end)), 60U) << text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  EXPECT_EQ(lines, 3U);
  EXPECT_EQ(out.text().find("WHEN"), std::string::npos);  // gives way
}

// Reports too long to hold: the same table, from two passes over a generator.
TEST(WriteTable, FurtherRowsArePrintedAsHeldOnes) {
  Report held{.command = "events", .unit = "bytes"};
  held.columns = {{"size", "SIZE"}, {.key = "name", .title = "NAME", .left = true, .shrink = true}};
  Report given = held;
  for (std::int64_t i = 0; i < 50; ++i) {
    held.rows.push_back({Amount{.value = i * i}, std::string(static_cast<std::size_t>(i), 'x')});
  }
  int passes = 0;
  given.further = [&]() -> NextCells {
    ++passes;
    return [&held, i = std::size_t{0}](std::vector<Cell>& row) mutable {
      if (i == held.rows.size()) {
        return false;
      }
      row = held.rows[i++];
      return true;
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
  const auto lines = Table(Sample(1), {.color = true});
  EXPECT_EQ(lines[1], "\x1b[1m    FLAT   FLAT%   WHERE\x1b[0m");
  for (const std::string& line : Table(Sample(1))) {
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  }
}

TEST(WriteTable, EscapesHeadFootAndCells) {
  Report report = Sample(1);
  report.head = {"\x1b[2Jhead"};
  report.foot = {"foot\n\x07"};
  report.rows[0][2] = std::string("\xe2\x80\xae\x9b\nname");
  EXPECT_THAT(Table(report), ElementsAre("\\x1b[2Jhead", "    FLAT   FLAT%   WHERE",
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
  Report report = Sample(1);
  const std::vector<Cell> row{Amount{40'000}, Amount{1'800'000}, std::int64_t{1} << 40};
  EXPECT_EQ(RowUnit(report, row, SizeUnit::kAuto), SizeUnit::kAuto);
  report.row_unit = true;
  EXPECT_EQ(RowUnit(report, row, SizeUnit::kAuto), SizeUnit::kMiB);
  EXPECT_EQ(RowUnit(report, row, SizeUnit::kB), SizeUnit::kB);
  EXPECT_EQ(RowUnit(report, {Amount{kMin}}, SizeUnit::kAuto), SizeUnit::kTiB);
}

TEST(WriteJson, IsExactAndStaysOneObject) {
  Report report = Sample(2);
  report.rows[0][0] = Amount{kMin};
  report.rows[0][2] = std::string("quote\" \xff </script>\n");
  report.totals = {{"total", std::int64_t{std::numeric_limits<std::int64_t>::max()}}};
  report.inputs = {{"a.prof", "pprof", "end"}};
  report.diagnostics = {{.code = "odd", .message = "m", .offset = 7, .count = 2}};
  StringSink sink;
  WriteJson(report, 1, sink);
  EXPECT_EQ(sink.text(),
            "{\"schema\":\"memtool.top/1\",\"inputs\":[{\"path\":\"a.prof\",\"format\":\"pprof\","
            "\"moment\":\"end\"}],\"sample_type\":\"space\",\"unit\":\"bytes\","
            "\"total\":9223372036854775807,\"rows_cut\":1,\n\"rows\":[\n"
            "{\"flat\":-9223372036854775808,\"name\":\"quote\\\" \xef\xbf\xbd </script>\\n\","
            "\"file\":\"\",\"line\":null}\n],\n\"diagnostics\":[{\"severity\":\"warning\","
            "\"code\":\"odd\",\"message\":\"m\",\"offset\":7,\"count\":2}]}\n");
}

TEST(WriteJson, OfNoRowsHasAnEmptyList) {
  StringSink sink;
  WriteJson(Sample(0), 0, sink);
  EXPECT_THAT(sink.text(), HasSubstr("\"rows\":[\n],\n\"diagnostics\":[]}\n"));
}

TEST(WriteCsv, HasOneLineARow) {
  Report report = Sample(2);
  report.rows[0][2] = std::string("=a,\"b\"\n");
  StringSink sink;
  WriteCsv(report, 0, sink);
  EXPECT_EQ(sink.text(),
            "flat,name,file,line\r\n1048576,\"'=a,\"\"b\"\"\\n\",,\r\n2097152,name2,,2\r\n");
}

TEST(WriteMarkdown, EscapesCells) {
  Report report = Sample(1);
  report.rows[0][2] = std::string("a|b <module>");
  StringSink sink;
  WriteMarkdown(report, {}, sink);
  EXPECT_THAT(Lines(sink.text()),
              ElementsAre("one input", "", "| FLAT | FLAT% | WHERE | PLACE |",
                          "| ---: | ---: | :--- | :--- |",
                          "| 1.00 MiB | 25.0% | a\\|b &lt;module&gt; |  |", "", "one note"));
}

}  // namespace
}  // namespace memtool::commands
