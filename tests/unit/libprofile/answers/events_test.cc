// Rows of events, held and streamed, and what became of one block; figures worked out by hand.
#include "memtool/profile/answers/events.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/answer_json.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kEventMilli = 1'000'000;
constexpr std::uint64_t kReused = 0x7f00;  // where one block is freed and another allocated
constexpr std::uint64_t kOlder = 0x9900;   // a block from before the recording, never freed

Event MakeEvent(Action action, std::int64_t size, std::int64_t milli, StackId stack = {}) {
  return {
      .key = kReused, .size = size, .time = milli * kEventMilli, .stack = stack, .action = action};
}

// f0 allocates 100, frees them 4 ms later, and f1 allocates 7 there. Between them an allocation of
// 5,000 fails with 64 free.
class Events : public testing::Test {
 protected:
  Events() : index_(Record()), view_(index_.recording(), all_) {}

  static Recording Record() {
    RecordingBuilder builder;
    const auto stacks = test::AddStacks(builder, 2, "model.py");
    const LabelSetId user = builder.InternLabels(std::array{Label{
        .key = builder.Intern("user"), .text = builder.Intern("layer1"), .unit = StringId(0U)}});
    History history = test::BuildHistory(
        {MakeEvent(Action::kAlloc, 100, 1, stacks[0]), MakeEvent(Action::kOom, 5000, 2),
         MakeEvent(Action::kFreeCompleted, 100, 5), MakeEvent(Action::kAlloc, 7, 6, stacks[1])});
    history.events[1].key = 64;
    history.clock = Clock::kUnix;
    history.labels.assign(history.events.size(), LabelSetId(0U));
    history.labels[0] = user;
    AllocatorState state = test::InOneSegment({{.address = kReused,
                                                .size = 512,
                                                .requested = 7,
                                                .stack = stacks[1],
                                                .state = BlockState::kActive},
                                               {.address = kOlder,
                                                .size = 512,
                                                .requested = 30,
                                                .stack = stacks[0],
                                                .state = BlockState::kActive}},
                                              1 << 20);
    return test::MakeRecording(std::move(history), std::move(state), std::move(builder));
  }

  [[nodiscard]] EventsAnswer Ask(const EventsQuery& query) const {
    return *ListEvents(index_, view_, query);
  }
  BlockStory MakeStory(std::uint64_t address, std::uint64_t version) {
    EventsQuery query{.range = {}, .limit = 1};
    query.filter.id = BlockId{.segment = false, .address = address, .version = version};
    return *reported_.emplace_back(Ask(query)).story;
  }

  HistoryIndex index_;
  Filter all_;
  View view_;
  std::vector<EventsAnswer> reported_;  // stories refer to them
};

TEST_F(Events, AreHeldUpToALimitAndCounted) {
  const EventsAnswer answer = Ask({.range = {}, .limit = 3});
  EXPECT_EQ(answer.count, 4U);
  EXPECT_EQ(answer.zero, kEventMilli);
  ASSERT_EQ(answer.rows.size(), 3U);
  const EventRow& first = answer.rows[0];
  EXPECT_EQ(first.who->name, "f0");
  EXPECT_EQ(first.who->line, 1);
  EXPECT_EQ(first.labels, "user=layer1");
  EXPECT_EQ(first.allocated, 130);  // with the older block
  EXPECT_EQ(first.partner, 2);
  EXPECT_EQ(first.lived_events, 2);
  EXPECT_EQ(first.lived_nanos, 4 * kEventMilli);
  EXPECT_EQ(ToString(*first.id), "b7f00_0");
  const EventRow& oom = answer.rows[1];
  EXPECT_EQ(oom.device_free, 64);
  EXPECT_FALSE(oom.id);
  EXPECT_FALSE(oom.lived_events);
  EXPECT_EQ(oom.who->name, "(no stack)");
  EXPECT_EQ(answer.rows[2].who->name, "f0");  // a free without frames: who allocated
  EXPECT_EQ(answer.rows[2].labels, "");
  EXPECT_EQ(MakeView(answer).skipped_rows, 1U);
}

TEST_F(Events, TheLargestAllocationsThatLiveInARange) {
  const auto sizes = [this](std::size_t largest, std::string_view from, std::string_view to) {
    std::vector<std::int64_t> found;
    MomentRange range;
    range.from = *ParseMoment(from);
    range.to = *ParseMoment(to);
    for (const EventRow& row : Ask({.range = range, .largest = largest}).rows) {
      found.push_back(row.size);
    }
    return found;
  };
  EXPECT_EQ(sizes(5, "start", "end"), (std::vector<std::int64_t>{100, 7}));
  EXPECT_EQ(sizes(1, "start", "end"), (std::vector<std::int64_t>{100}));
  EXPECT_EQ(sizes(5, "event:1", "event:1"), (std::vector<std::int64_t>{100}));  // from before it
  EXPECT_EQ(sizes(5, "event:3", "event:3"), (std::vector<std::int64_t>{7}));    // freed by then
  const EventsAnswer one = Ask({.range = {}, .largest = 1});
  EXPECT_EQ(one.count, 2U);
  EXPECT_EQ(MakeView(one).skipped_rows, 1U);
}

TEST_F(Events, AreTheSameHeldAndStreamed) {
  const EventsAnswer held = Ask({.name = "a", .range = {}, .stacks = true, .limit = 100});
  const EventsAnswer streamed = Ask({.name = "a", .range = {}, .stacks = true});
  EXPECT_TRUE(streamed.rows.empty());
  EXPECT_FALSE(streamed.count);
  EXPECT_EQ(Ask({.range = {}, .count = true}).count, 4U);
  const AnswerView view = MakeView(streamed);
  for (int pass = 0; pass < 2; ++pass) {  // tables go over them twice
    EXPECT_EQ(test::WrittenJson(view), test::WrittenJson(MakeView(held)));
  }
}

TEST_F(Events, AreWrittenWithStacksOnlyWhenAsked) {
  const EventsAnswer plain = Ask({.name = "a.pickle", .range = {}, .limit = 2});
  const auto json = test::WrittenJson(MakeView(plain));
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "memtool.events/1");
  EXPECT_STREQ(json["sample_type"].GetString(), "space");
  EXPECT_EQ(json["rows_cut"].GetInt64(), 2);
  const auto& row = json["rows"][0];
  EXPECT_STREQ(row["address"].GetString(), "0x7f00");
  EXPECT_EQ(row["lived_us"].GetInt64(), 4000);
  EXPECT_TRUE(row["via"].IsNull());
  EXPECT_FALSE(row.HasMember("stack"));
  EXPECT_TRUE(json["rows"][1]["address"].IsNull());
  const EventsAnswer whole = Ask({.range = {}, .stacks = true});
  EXPECT_STREQ(test::WrittenJson(MakeView(whole))["rows"][3]["stack"].GetString(), "f1");
}

TEST_F(Events, TellTheStoryOfABlock) {
  const BlockStory gone = MakeStory(kReused, 0);
  EXPECT_EQ(gone.size, 100);
  EXPECT_EQ(gone.begin->event, 0);
  EXPECT_EQ(gone.begin->who->name, "f0");
  EXPECT_EQ(gone.end->event, 2);
  EXPECT_EQ(gone.lived_events, 2);
  EXPECT_EQ(gone.lived_nanos, 4 * kEventMilli);
  const BlockStory lives = MakeStory(kReused, 1);
  EXPECT_EQ(lives.size, 7);
  EXPECT_TRUE(lives.begin);
  EXPECT_FALSE(lives.end);
  EXPECT_FALSE(lives.lived_events);
}

TEST_F(Events, TellOfBlocksThatNoEventIsAbout) {
  const BlockStory older = MakeStory(kOlder, 0);
  EXPECT_FALSE(older.size);
  ASSERT_TRUE(older.at_end);
  EXPECT_EQ(older.at_end->requested, 30);
  EXPECT_EQ(older.at_end->who->name, "f0");
  const BlockStory never = MakeStory(kReused, 7);
  EXPECT_FALSE(never.at_end);
  EXPECT_EQ(never.gone, 1U);
}

// The same address of two devices is one block to PyTorch's viewer; their event numbers are not.
TEST(EventsOfTwoDevices, HaveNoLifeInCommon) {
  History history = test::BuildHistory({MakeEvent(Action::kAlloc, 8, 9)});
  test::AddTrace(history, {MakeEvent(Action::kFreeCompleted, 8, 3)});
  history.clock = Clock::kUnix;
  const HistoryIndex index(test::MakeRecording(std::move(history)));
  const Filter all;
  const View view(index.recording(), all);
  EventsQuery query{.range = {}, .count = true};
  query.filter.id = BlockId{.segment = false, .address = kReused, .version = 0};
  const auto answer = ListEvents(index, view, query);
  ASSERT_TRUE(answer->story->begin && answer->story->end);
  EXPECT_FALSE(answer->story->lived_events);
}

}  // namespace
}  // namespace memtool
