#include "memtool/profile/answers/write.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace memtool {
namespace {

struct SampleRow {
  std::int64_t flat = 0;
  std::string name;
  std::optional<double> share;
  std::vector<std::int64_t> steps;
};

Value Steps(const SampleRow& row) {
  return Value::List(row.steps.begin(), row.steps.end());
}

constexpr auto kSampleFields = Fields<SampleRow>({{"flat", "FLAT", Unit::kAmount, &SampleRow::flat},
                                                  {"name", "WHERE", Unit::kText, &SampleRow::name},
                                                  {"share", "", Unit::kRatio, &SampleRow::share},
                                                  {"steps", "", Unit::kNested, Steps}});

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

struct Sample {
  AnswerHead head{.question = "top",
                  .inputs = {{.path = "a.prof", .format = "pprof", .details = {{"rank", 3}}}},
                  .sample_type = "space",
                  .unit = "bytes",
                  .diagnostics = {{.code = "odd", .message = "m", .offset = 7, .count = 2}}};
  std::vector<SampleRow> rows{{kMin, "quote\" \xff </script>\n", 0.25, {1, 2}},
                              {2, "=a,\"b\"\n", std::nullopt, {}}};

  [[nodiscard]] AnswerView View() const {
    return ViewRows(head, {{"total", kMax}}, rows, kSampleFields);
  }
};

template <class Write>
std::string Written(Write write, const AnswerView& view, std::size_t limit) {
  std::string text;
  write(view, limit, [&text](std::string_view bytes) { text += bytes; });
  return text;
}

TEST(WriteJson, IsExactAndStaysOneObject) {
  const Sample sample;
  EXPECT_EQ(Written(WriteJson, sample.View(), 1),
            "{\"schema\":\"memtool.top/1\",\"inputs\":[{\"path\":\"a.prof\",\"format\":\"pprof\","
            "\"moment\":\"end\",\"rank\":3}],\"sample_type\":\"space\",\"unit\":\"bytes\","
            "\"total\":9223372036854775807,\"rows_cut\":1,\n\"rows\":[\n"
            "{\"flat\":-9223372036854775808,\"name\":\"quote\\\" \xef\xbf\xbd </script>\\n\","
            "\"share\":0.25,\"steps\":[1,2]}\n],\n\"diagnostics\":[{\"severity\":\"warning\","
            "\"code\":\"odd\",\"message\":\"m\",\"offset\":7,\"count\":2}]}\n");
}

TEST(WriteJson, OfNoRowsHasAnEmptyList) {
  Sample sample;
  sample.rows.clear();
  sample.head.diagnostics.clear();
  EXPECT_NE(Written(WriteJson, sample.View(), 0).find("\"rows\":[\n],\n\"diagnostics\":[]}\n"),
            std::string::npos);
}

std::string Columns(const AnswerView& view, std::size_t limit) {
  std::string text;
  WriteJsonColumns(view, limit, *MakeJsonColumns(view, limit),
                   [&text](std::string_view bytes) { text += bytes; });
  return text;
}

TEST(WriteJsonColumns, AreListsInsteadOfRows) {
  const Sample sample;
  const std::string rows = Written(WriteJson, sample.View(), 0);
  const std::string columns = Columns(sample.View(), 0);
  const std::size_t begin = rows.find("\"rows\"");
  EXPECT_EQ(columns.substr(0, begin), rows.substr(0, begin));
  EXPECT_EQ(columns.substr(begin),
            "\"columns\":{\n\"flat\":[-9223372036854775808,2],\n"
            "\"name\":[\"quote\\\" \xef\xbf\xbd </script>\\n\",\"=a,\\\"b\\\"\\n\"],\n"
            "\"share\":[0.25,null],\n\"steps\":[[1,2],[]]\n}" +
                rows.substr(rows.find(",\n\"diagnostics\"")));
  EXPECT_NE(Columns(sample.View(), 1).find("\"share\":[0.25],"), std::string::npos);
}

TEST(WriteJsonColumns, OfNoRowsAreEmptyLists) {
  Sample sample;
  sample.rows.clear();
  EXPECT_EQ(*MakeJsonColumns(sample.View(), 0), std::vector<std::string>(4, "[]"));
}

TEST(WriteJsonColumns, AreHeldUpToALimit) {
  Sample sample;
  sample.rows.assign(1000, {1, std::string(1000, 'x'), std::nullopt, {}});
  std::size_t made = 0;
  AnswerView view = sample.View();
  view.rows = [&made, rows = view.rows](std::size_t limit) {
    return [&made, next = rows(limit)] {
      ++made;
      return next();
    };
  };
  EXPECT_EQ(MakeJsonColumns(view, 0, 100'000).error().code, ErrorCode::kLimit);
  EXPECT_LT(made, 101U);  // no more than fit
}

TEST(WriteJson, WhatIsNoNumberIsNull) {
  Sample sample;
  sample.rows = {{1, "a", std::nan(""), {}}};
  EXPECT_EQ(Written(WriteJsonLines, sample.View(), 0),
            "{\"flat\":1,\"name\":\"a\",\"share\":null,\"steps\":[]}\n");
}

// Rows that are made one by one, and nothing holds: no limit cuts them.
TEST(WriteJsonLines, RowsAreStreamed) {
  const Sample sample;
  AnswerView view = sample.View();
  view.row_count = 0;
  view.rows = [](std::size_t /*limit*/) {
    return [left = 2, row = AnswerView::Values()]() mutable {
      row = {left, "made", Value(), Value::List()};
      return left-- > 0 ? &row : nullptr;
    };
  };
  EXPECT_EQ(Written(WriteJsonLines, view, 1),
            "{\"flat\":2,\"name\":\"made\",\"share\":null,\"steps\":[]}\n"
            "{\"flat\":1,\"name\":\"made\",\"share\":null,\"steps\":[]}\n");
}

TEST(WriteCsv, HasOneLineARow) {
  const Sample sample;
  EXPECT_EQ(Written(WriteCsv, sample.View(), 0),
            "flat,name,share,steps\r\n"
            "-9223372036854775808,\"quote\"\" \\xff </script>\\n\",0.25,\"[1,2]\"\r\n"
            "2,\"'=a,\"\"b\"\"\\n\",,[]\r\n");
}

}  // namespace
}  // namespace memtool
