// Allocations by who made them and how long they lived; figures worked out by hand.
#include "memtool/profile/answers/churn.h"

#include <gtest/gtest.h>

#include "support/answer_json.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// f0 allocates 100 twice, each freed by the next event, 1 ms later; f1 allocates 30 and keeps them.
// 4 ms in all.
HistoryIndex Record() {
  RecordingBuilder builder;
  const auto stacks = test::AddStacks(builder, 2, "model.py");
  const auto make = [](Action action, std::int64_t size, std::int64_t milli, StackId stack = {}) {
    return Event{.key = static_cast<std::uint64_t>(size) << 8U,
                 .size = size,
                 .time = milli * kMilli,
                 .stack = stack,
                 .action = action};
  };
  History history = test::BuildHistory(
      {make(Action::kAlloc, 100, 1, stacks[0]), make(Action::kFreeCompleted, 100, 2),
       make(Action::kAlloc, 30, 3, stacks[1]), make(Action::kAlloc, 100, 4, stacks[0]),
       make(Action::kFreeCompleted, 100, 5)});
  history.clock = Clock::kUnix;
  return HistoryIndex(test::MakeRecording(std::move(history), {}, std::move(builder)));
}

ChurnAnswer Ask(const HistoryIndex& index, const ShortLived& limit) {
  const Filter all;
  const View view(index.recording(), all);
  return *ComputeChurn(index, view,
                       {.name = "a.pickle", .range = {}, .by = *ParseBy("line"), .limit = limit});
}

TEST(ChurnAnswer, CountsByWhoAllocates) {
  const HistoryIndex index = Record();
  const ChurnAnswer answer = Ask(index, {.events = 1});
  ASSERT_EQ(answer.rows.size(), 2U);
  EXPECT_EQ(answer.rows[0].name, "f0");
  EXPECT_EQ(answer.rows[0].churn.bytes, 200);
  EXPECT_EQ(answer.rows[0].churn.short_lived, 2);
  EXPECT_EQ(answer.rows[0].churn.median_events, 1);
  EXPECT_EQ(answer.rows[1].churn.kept_bytes, 30);
  EXPECT_FALSE(answer.rows[1].churn.median_events);
  EXPECT_EQ(answer.total.bytes, 230);
  EXPECT_EQ(answer.total.kept, 1);
  EXPECT_EQ(answer.nanos, 4 * kMilli);
  EXPECT_DOUBLE_EQ(*answer.allocations_per_second, 750);
  EXPECT_DOUBLE_EQ(*answer.bytes_per_second, 57500);
}

TEST(ChurnAnswer, IsWrittenWithItsSums) {
  const HistoryIndex index = Record();
  const ChurnAnswer answer = Ask(index, {.nanos = kMilli / 2});
  const auto json = test::WrittenJson(MakeView(answer));
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "memtool.events/1");
  EXPECT_EQ(json["total"].GetInt64(), 230);
  EXPECT_EQ(json["duration_us"].GetInt64(), 4000);
  EXPECT_TRUE(json["short_lived_events"].IsNull());
  EXPECT_EQ(json["short_lived_us"].GetInt64(), 500);
  EXPECT_EQ(json["short_lived"].GetInt64(), 0);
  EXPECT_EQ(json["rows"][0]["median_us"].GetInt64(), 1000);
  EXPECT_TRUE(json["rows"][1]["median_us"].IsNull());
  EXPECT_EQ(json["rows"][1]["line"].GetInt64(), 2);
}

}  // namespace
}  // namespace memtool
