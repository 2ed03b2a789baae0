#include "support/text/csv_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memtool::formats {
namespace {

std::vector<std::string> Fields(std::string_view line, CsvPadding padding = CsvPadding::kNone) {
  CsvFields fields(padding);
  std::vector<std::string> all;
  if (!fields.Split(line)) {
    return {"(refused)"};
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    all.emplace_back(fields[i]);
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(CsvFields, SplitsQuotedAndBareFields) {
  EXPECT_EQ(Fields(R"("a",b,"c,d",)"), (Texts{"a", "b", "c,d", ""}));
  EXPECT_EQ(Fields(R"(a"b,"x ""y"" z","""")"), (Texts{"a\"b", "x \"y\" z", "\""}));
  EXPECT_EQ(Fields(""), Texts{""});
  EXPECT_EQ(Fields(R"("")"), Texts{""});
}

TEST(CsvFields, RefusesQuotesThatAreNotClosed) {
  for (const auto* const line : {"\"", "\"a", "a,\"b", "\"a\"b", "\"a\"\"", "\"\"\""}) {
    EXPECT_EQ(Fields(line), Texts{"(refused)"}) << line;
  }
}

TEST(CsvFields, PaddingMeansNothingWhereWritersPad) {
  const auto padded = [](std::string_view line) { return Fields(line, CsvPadding::kBlanks); };
  EXPECT_EQ(padded("a, b\t,,c"), (Texts{"a", "b", "", "c"}));
  EXPECT_EQ(padded(R"(1, "{addr:1,size:2}" ,x)"), (Texts{"1", "{addr:1,size:2}", "x"}));
  EXPECT_EQ(padded(R"("say ""hi"", you","b")"), (Texts{R"(say "hi", you)", "b"}));
  EXPECT_EQ(padded(R"(a,"b"c,d)"), Texts{"(refused)"});
  EXPECT_EQ(Fields("a, b"), (Texts{"a", " b"})) << "others mean what they write";
}

TEST(CsvFields, ARowMayGoOnInTheNextLine) {
  EXPECT_TRUE(CsvFields::EndsInQuote(R"(a,"b)"));
  EXPECT_FALSE(CsvFields::EndsInQuote(R"(a,"b""c")"));
}

TEST(CsvFields, ColumnsAreFoundByName) {
  CsvFields header;
  ASSERT_TRUE(header.Split("b,x,a"));
  const auto columns = CsvColumns<2>::Find({"a", "b"}, header);
  ASSERT_TRUE(columns);
  CsvFields row;
  ASSERT_TRUE(row.Split("1,2"));
  EXPECT_EQ(columns->Get(row, 1), "1");
  EXPECT_EQ(columns->Get(row, 0), "") << "a row may be short";
  EXPECT_FALSE(CsvColumns<2>::Find({"a", "c"}, header));
}

}  // namespace
}  // namespace memtool::formats
