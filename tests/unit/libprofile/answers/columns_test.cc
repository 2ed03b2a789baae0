// Answers as columns: the same values as row by row, whatever way they take.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "memtool/profile/answers/column.h"
#include "memtool/profile/answers/events.h"
#include "memtool/profile/answers/timeline.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/select/filter.h"
#include "support/make_history.h"

namespace memtool {
namespace {

// A cell as JSON; an address as the text that rows have.
std::string CellText(const AnswerColumn& column, std::size_t row) {
  if (!column.missing.empty() && column.missing[row] != 0) {
    return "null";
  }
  return std::visit(
      [&](const auto& data) -> std::string {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, AnswerColumn::Words>) {
          return data.codes[row] < 0
                     ? "null"
                     : ToJson(data.words[static_cast<std::size_t>(data.codes[row])]);
        } else if constexpr (std::is_same_v<Data, AnswerColumn::Truths>) {
          return data.values[row] != 0 ? "true" : "false";
        } else if constexpr (std::is_same_v<Data, std::vector<std::uint64_t>>) {
          return ToJson(AddressText(data[row]));
        } else {
          return ToJson(data[row]);
        }
      },
      column.data);
}

// "b7f00_3" → 3
Value GetVersion(const Value& id) {
  const auto* text = std::get_if<std::string>(&id.data());
  return text == nullptr ? Value()
                         : Value(std::int64_t{std::stol(text->substr(text->rfind('_') + 1))});
}

std::vector<std::vector<Value>> GetRows(const AnswerView& answer) {
  std::vector<std::vector<Value>> rows;
  for (const auto next = answer.rows(0); const auto* row = next();) {
    rows.push_back(*row);
  }
  return rows;
}

void ExpectSame(const AnswerView& answer, const AnswerColumns& columns) {
  const auto rows = GetRows(answer);
  ASSERT_EQ(columns.rows, rows.size());
  ASSERT_EQ(columns.columns.size(), answer.fields.size());
  for (std::size_t i = 0; i < answer.fields.size(); ++i) {
    const bool id = columns.columns[i].key == "version";
    EXPECT_EQ(id ? "id" : columns.columns[i].key, answer.fields[i].key);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Value& value = rows[row][i];
      EXPECT_EQ(CellText(columns.columns[i], row), ToJson(id ? GetVersion(value) : value))
          << answer.fields[i].key << " of row " << row;
    }
  }
}

class EventColumns : public testing::TestWithParam<std::uint32_t> {};

TEST_P(EventColumns, AreTheRows) {
  const HistoryIndex index(test::RandomHistory(GetParam()));
  const Filter all;
  const View view(index.recording(), all);
  for (const bool stacks : {false, true}) {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{5}}) {
      const auto answer = ListEvents(index, view, {.range = {}, .stacks = stacks, .limit = limit});
      ASSERT_TRUE(answer);
      ExpectSame(MakeView(*answer), MakeColumns(MakeView(*answer), 0));
    }
  }
}

TEST_P(EventColumns, AreThoseAskedFor) {
  const HistoryIndex index(test::RandomHistory(GetParam()));
  const Filter all;
  const View view(index.recording(), all);
  const auto answer = ListEvents(index, view, {.range = {}});
  ASSERT_TRUE(answer);
  AnswerView two = MakeView(*answer);
  two.fields = {two.fields[3], two.fields[0]};
  const AnswerColumns columns = MakeColumns(two, 0);
  ASSERT_EQ(columns.columns.size(), 2U);
  EXPECT_EQ(columns.columns[0].key, "size");
  EXPECT_EQ(columns.columns[1].key, "event");
}

TEST_P(EventColumns, TimelinesToo) {
  const HistoryIndex index(test::RandomHistory(GetParam()));
  const Filter all;
  TimelineQuery query{.name = "file"};
  query.by = By{};
  for (const std::size_t points : {std::size_t{0}, std::size_t{7}}) {
    query.points = points;
    const auto answer = BuildTimeline(index, all, query);
    ASSERT_TRUE(answer);
    ExpectSame(MakeView(*answer), MakeColumns(MakeView(*answer), 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EventColumns, testing::Range(1U, 30U));

AnswerColumn Built(Unit unit, const std::vector<Value>& values) {
  ColumnBuilder builder({"key", "KEY", unit});
  for (const Value& value : values) {
    builder.Add(value);
  }
  return std::move(builder).Make();
}

struct Case {
  const char* name;
  Unit unit;
  std::vector<Value> values;
  std::size_t kind;  // which alternative of AnswerColumn::Data
};

constexpr std::size_t kIntegers = 0;
constexpr std::size_t kAddresses = 2;
constexpr std::size_t kReals = 3;
constexpr std::size_t kTruths = 4;
constexpr std::size_t kWords = 5;
constexpr std::size_t kValues = 6;

TEST(ColumnBuilder, KeepsEveryValue) {
  const std::vector<Case> cases{
      {"nothing at all", Unit::kBytes, {}, kIntegers},
      {"only missing", Unit::kRatio, {Value(), Value()}, kReals},
      {"only missing text", Unit::kText, {Value(), Value()}, kWords},
      {"integers", Unit::kBytes, {Value(1), Value(INT64_MIN), Value()}, kIntegers},
      {"missing first", Unit::kText, {Value(), Value(), Value(3), Value(4)}, kIntegers},
      {"sizes", Unit::kBytes, {Value(std::uint64_t{7}), Value(-1)}, kIntegers},
      {"a number beyond", Unit::kBytes, {Value(1), Value(UINT64_MAX)}, kValues},
      {"reals", Unit::kRatio, {Value(0.5), Value(), Value(1)}, kReals},
      {"a real among integers", Unit::kCount, {Value(2), Value(), Value(0.25)}, kReals},
      {"truths", Unit::kText, {Value(true), Value(), Value(false)}, kTruths},
      {"words", Unit::kText, {Value("a"), Value(), Value("b"), Value("a")}, kWords},
      {"addresses", Unit::kAddress, {Value("0x7f00"), Value(), Value("0x1")}, kAddresses},
      {"no address", Unit::kAddress, {Value("0x7f00"), Value("here")}, kValues},
      {"text that looks like one", Unit::kText, {Value("0x7f00")}, kWords},
      {"a number among words", Unit::kText, {Value("a"), Value(), Value(1)}, kValues},
      {"a list among integers",
       Unit::kCount,
       {Value(), Value(1), Value(Value::List{Value(1), Value("x")})},
       kValues},
  };
  for (const Case& one : cases) {
    const AnswerColumn column = Built(one.unit, one.values);
    EXPECT_EQ(column.data.index(), one.kind) << one.name;
    for (std::size_t row = 0; row < one.values.size(); ++row) {
      const auto* whole = std::get_if<std::int64_t>(&one.values[row].data());
      const bool real = one.kind == kReals && whole != nullptr;
      EXPECT_EQ(CellText(column, row),
                ToJson(real ? Value(static_cast<double>(*whole)) : one.values[row]))
          << one.name << ", row " << row;
    }
  }
}

TEST(ColumnBuilder, KeepsEachWordOnce) {
  const AnswerColumn column = Built(Unit::kText, {Value("x"), Value("y"), Value("x"), Value()});
  const auto& words = std::get<AnswerColumn::Words>(column.data);
  EXPECT_EQ(words.words, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(words.codes, (std::vector<std::int32_t>{0, 1, 0, -1}));
}

}  // namespace
}  // namespace memtool
