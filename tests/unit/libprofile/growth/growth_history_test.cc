// Growth over a history against the slow way: what Replay says is live after every single event.
#include "memtool/profile/growth/growth_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>

#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/view.h"
#include "support/make_history.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Sums = std::map<std::string, std::int64_t>;
constexpr std::int64_t kTick = 1'000;

// Stacks f0 … f3 with a frame each, stack 4 without frames; events a tick apart.
class Maker {
 public:
  Maker() : stacks_(test::AddStacks(builder_, 4, "train.py")) {}

  void Alloc(std::uint64_t key, std::int64_t size, std::size_t stack) {
    Put({.key = key, .size = size, .stack = stacks_[stack], .action = Action::kAlloc});
  }
  void Free(std::uint64_t key, std::int64_t size) {
    Put({.key = key, .size = size, .action = Action::kFreeCompleted});
  }
  void Begin(std::string name) {
    marks_.push_back({.name = std::move(name), .device = 0, .begin = Now()});
  }
  void BeginAt(std::string name, std::int64_t time) {
    marks_.push_back({.name = std::move(name), .device = 0, .begin = time});
  }
  void EndAt(std::int64_t time) { marks_.back().end = time; }
  void End() { marks_.back().end = Now() - 1; }
  // A block that was there from the start and stays.
  void Ghost(std::uint64_t key, std::int64_t size, std::size_t stack) {
    unopened_.push_back({.address = key,
                         .size = size,
                         .requested = size,
                         .stack = stacks_[stack],
                         .state = BlockState::kActive});
  }

  // More preexisting bytes, of which only the sum is known.
  void Standing(std::int64_t bytes) { standing_ = bytes; }

  Recording Finish() {
    History history = test::BuildHistory(events_);
    history.clock = Clock::kUnix;
    history.marks = marks_;
    history.traces[0].preexisting_bytes = standing_;
    std::optional<AllocatorState> state;
    if (!unopened_.empty()) {
      state = test::InOneSegment(unopened_, 1 << 30);
    }
    return test::MakeRecording(std::move(history), std::move(state), std::move(builder_));
  }

 private:
  [[nodiscard]] std::int64_t Now() const {
    return static_cast<std::int64_t>(events_.size() + 1) * kTick;
  }
  void Put(Event event) {
    event.time = Now();
    events_.push_back(event);
  }

  RecordingBuilder builder_;
  std::vector<StackId> stacks_;
  std::vector<Event> events_;
  std::vector<Mark> marks_;
  std::vector<Block> unopened_;
  std::int64_t standing_ = 0;
};

Result<HistoryGrowth> Grow(const Recording& recording, const StepOptions& options,
                           std::string_view by = "function") {
  const Filter filter = *Filter::Compile(test::AllFrames());
  const HistoryIndex index(recording);
  const View view(index.recording(), filter);
  NodeSpace space;
  return GrowthOfHistory(index, view, *ParseBy(by), options, space);
}

std::map<std::string, std::vector<std::int64_t>> MakeSeries(const HistoryGrowth& growth) {
  std::map<std::string, std::vector<std::int64_t>> series;
  for (const GrowthRow& row : growth.series.rows) {
    EXPECT_TRUE(series.emplace(row.name, row.series).second) << row.name.view();
  }
  return series;
}

Recording RandomGrowth(std::uint32_t seed, int events) {
  std::mt19937 random(seed);
  Maker maker;
  struct Live {
    std::uint64_t key;
    std::int64_t size;
  };
  std::vector<Live> live;
  for (std::uint64_t i = 0; i < 5; ++i) {
    live.push_back({1'000'000 + i, 100 + static_cast<std::int64_t>(i)});  // freed later, or never
  }
  maker.Ghost(2'000'000, 77, 0);
  maker.Ghost(2'000'100, 33, 4);
  maker.Standing(seed % 2 == 0 ? 0 : 555);
  for (int i = 0; i < events; ++i) {
    if (live.size() > 30 || (!live.empty() && random() % 2 == 0)) {
      const std::size_t at = random() % live.size();
      maker.Free(live[at].key, live[at].size);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const auto size = static_cast<std::int64_t>(random() % 1000 + 1);
      live.push_back({static_cast<std::uint64_t>(i), size});
      maker.Alloc(static_cast<std::uint64_t>(i), size, random() % 5);
    }
  }
  return maker.Finish();
}

std::string ToName(const Recording& recording, const LiveBlock& block) {
  if (block.stack.valid() && !recording.Stack(block.stack).empty()) {
    const Location& at = recording.At(recording.Stack(block.stack)[0]);
    return std::string(
        recording.Text(recording.functions[recording.Lines(at)[0].function.value()].name));
  }
  return std::string(block.before_recording ? kBeforeRecording : kNoStack);
}

Sums LiveSums(const Recording& recording, const Replay& replay, std::int64_t last) {
  Sums sums;
  for (const LiveBlock& block : replay.LiveAt(last)) {
    sums[ToName(recording, block)] += block.size;
  }
  return sums;
}

std::int64_t At(const Sums& sums, const std::string& name) {
  const auto found = sums.find(name);
  return found == sums.end() ? 0 : found->second;
}

TEST(GrowthOfHistory, AgreesWithLiveBlocksAfterEveryEvent) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const Recording recording = RandomGrowth(seed, 150);
    const Replay replay(recording, recording.history->traces[0]);
    StepOptions options{.parts = 3 + seed % 5};
    if (seed % 3 == 0) {
      options.range.from = *ParseMoment("event:20");
      options.range.to = *ParseMoment("event:120");
    }
    const std::int64_t last_of_range = seed % 3 == 0 ? 120 : 149;
    for (const StepMeasure measure :
         {StepMeasure::kEnd, StepMeasure::kLow, StepMeasure::kRetained}) {
      options.measure = measure;
      const auto growth = Grow(recording, options);
      ASSERT_TRUE(growth.has_value());
      const auto series = MakeSeries(*growth);
      std::int64_t before = seed % 3 == 0 ? 20 : -1;
      for (std::size_t step = 0; step < growth->series.points.size(); ++step) {
        const std::int64_t last = growth->series.points[step].event;
        std::int64_t sum = 0;
        for (const auto& [name, values] : series) {
          std::int64_t wanted = At(LiveSums(recording, replay, last), name);
          if (measure == StepMeasure::kLow) {
            for (std::int64_t event = before; event < last; ++event) {
              wanted = std::min(wanted, At(LiveSums(recording, replay, event), name));
            }
          } else if (measure == StepMeasure::kRetained) {
            wanted = 0;
            const auto at_end = replay.LiveAt(last_of_range);
            for (const LiveBlock& block : replay.LiveAt(last)) {
              const bool stays = std::any_of(at_end.begin(), at_end.end(), [&](const auto& other) {
                return other.address == block.address && other.event == block.event;
              });
              wanted += stays && ToName(recording, block) == name ? block.size : 0;
            }
          }
          EXPECT_EQ(values[step], wanted) << name << " in step " << step << ", seed " << seed;
          sum += values[step];
        }
        if (measure != StepMeasure::kLow) {
          EXPECT_EQ(sum, growth->series.points[step].total);
        }
        before = last;
      }
      EXPECT_EQ(before, last_of_range);
    }
  }
}

// Steps of a program: every step allocates 100 and frees it, and keeps 10.
Maker LeakySteps(int steps, bool ends) {
  Maker maker;
  maker.Alloc(1, 5000, 0);
  for (int i = 0; i < steps; ++i) {
    const auto key = static_cast<std::uint64_t>(10 * i + 10);
    maker.Begin("ProfilerStep#" + std::to_string(i));
    maker.Alloc(key, 100, 1);
    maker.Alloc(key + 1, 10, 2);
    maker.Free(key, 100);
    if (ends) {
      maker.End();
      maker.Alloc(key + 2, 1, 3);  // between two steps
      maker.Free(key + 2, 1);
    }
  }
  return maker;
}

TEST(GrowthOfHistory, MarksAreSteps) {
  const Recording recording = LeakySteps(4, true).Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->mark, "ProfilerStep");
  EXPECT_EQ(growth->measure, StepMeasure::kEnd);
  EXPECT_FALSE(growth->unfinished);
  EXPECT_EQ(growth->series.points[2].name, "ProfilerStep#2");
  const auto series = MakeSeries(*growth);
  EXPECT_THAT(series.at("f2"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(series.at("f0"), ElementsAre(5000, 5000, 5000, 5000));
  EXPECT_EQ(series.count("f1"), 0U);  // nothing at the end of any step, and nothing kept
  const GrowthRow& leak = growth->series.rows.front();
  EXPECT_EQ(leak.name, "f2");
  EXPECT_EQ(leak.growth.slope, 10);
  EXPECT_EQ(leak.retained->bytes, 40);
  EXPECT_EQ(leak.retained->steps, 4U);
  EXPECT_EQ(leak.file, "train.py");
  EXPECT_EQ(leak.line, 3);
}

// Annotations have the clock of the events: ends, beginnings and events may share a microsecond.
TEST(GrowthOfHistory, AnEventAtTheTimeOfAnEndIsOfTheStepThatEnds) {
  Maker maker;
  for (int i = 0; i < 3; ++i) {
    const auto key = static_cast<std::uint64_t>(10 * i);
    maker.BeginAt("ProfilerStep#" + std::to_string(i), 2 * i * kTick);
    maker.EndAt(2 * (i + 1) * kTick);
    maker.Alloc(key, 1, 1);       // at 2i + 1
    maker.Alloc(key + 1, 10, 2);  // at 2i + 2, when the step ends and the next begins
  }
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_THAT(MakeSeries(*growth).at("f1"), ElementsAre(1, 2, 3));
  EXPECT_THAT(MakeSeries(*growth).at("f2"), ElementsAre(10, 20, 30));
}

TEST(GrowthOfHistory, AnEventAtTheTimeOfABeginningIsOfTheStepThatBegins) {
  Maker maker;
  for (int i = 0; i < 4; ++i) {
    const auto key = static_cast<std::uint64_t>(10 * i);
    maker.Begin("ProfilerStep#" + std::to_string(i));
    maker.Alloc(key, 100, 1);  // at that time
    maker.Alloc(key + 1, 10, 2);
    maker.Free(key, 100);
  }
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_THAT(MakeSeries(*growth).at("f2"), ElementsAre(10, 20, 30));
  EXPECT_EQ(MakeSeries(*growth).count("f1"), 0U);
}

TEST(GrowthOfHistory, StepsFromBeforeTheRecordingAreNotSteps) {
  Maker maker;
  for (int i = 0; i < 5; ++i) {
    maker.BeginAt("ProfilerStep#" + std::to_string(i), (i - 10) * kTick);
    maker.EndAt((i - 9) * kTick);
  }
  for (int i = 5; i < 8; ++i) {
    maker.Begin("ProfilerStep#" + std::to_string(i));
    maker.Alloc(static_cast<std::uint64_t>(i), 10, 2);
    maker.End();
  }
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->series.points.front().name, "ProfilerStep#5");
  EXPECT_THAT(MakeSeries(*growth).at("f2"), ElementsAre(10, 20, 30));
}

TEST(GrowthOfHistory, AnUnfinishedLastStepIsLeftOut) {
  Maker maker = LeakySteps(4, false);
  maker.Alloc(9999, 100'000, 1);  // in the middle of step 3
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_TRUE(growth->unfinished);
  EXPECT_THAT(MakeSeries(*growth).at("f2"), ElementsAre(10, 20, 30));
  EXPECT_EQ(MakeSeries(*growth).count("f1"), 0U);
}

// What rises over few steps and is freed in the step that is left out keeps nothing.
TEST(GrowthOfHistory, WhatIsFreedLaterKeepsNothing) {
  Maker maker;
  maker.Alloc(1, 5000, 0);
  for (std::uint64_t i = 0; i < 6; ++i) {
    maker.Begin("ProfilerStep#" + std::to_string(i));
    maker.Alloc(10 + i, 100, 1);
    maker.Alloc(20 + i, 10, 2);
    maker.End();
  }
  maker.Begin("ProfilerStep#6");
  for (std::uint64_t i = 0; i < 6; ++i) {
    maker.Free(10 + i, 100);
  }
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  const auto& rows = growth->series.rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "f2");  // the smaller, but sure
  EXPECT_EQ(rows[0].growth.evidence, GrowthEvidence::kStrong);
  EXPECT_EQ(rows[0].retained->early_steps, 4U);
  EXPECT_EQ(rows[1].name, "f1");
  EXPECT_EQ(rows[1].growth.kind, GrowthKind::kSteady);
  EXPECT_EQ(rows[1].growth.evidence, GrowthEvidence::kFreed);
  EXPECT_EQ(rows[1].retained->steps, 0U);
}

// Readers of formats that know only its sum make an allocation of what was there before.
TEST(GrowthOfHistory, WhatWasThereBeforeIsOneRow) {
  Maker maker;
  maker.Standing(5700);
  for (std::uint64_t i = 0; i < 4; ++i) {
    maker.Alloc(10 + i, 10, 2);
    maker.Free(100 + i, 300);  // nobody saw them allocated
  }
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {.parts = 4, .measure = StepMeasure::kEnd});
  ASSERT_TRUE(growth.has_value());
  const auto series = MakeSeries(*growth);  // fails for two rows of one name
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series.at(std::string(kBeforeRecording)).back(), 5700);
  for (const GrowthRow& row : growth->series.rows) {
    EXPECT_EQ(row.retained->bytes, row.name == "f2" ? 40 : 0) << row.name.view();
    EXPECT_EQ(row.growth.grew == 0, row.name != "f2");
  }
}

TEST(GrowthOfHistory, VeryManyStepsAreJoined) {
  const Recording recording = LeakySteps(2501, true).Finish();
  const auto growth = Grow(recording, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->merged, 3U);
  EXPECT_EQ(growth->series.points.size(), 833U);
  EXPECT_EQ(growth->series.points[1].name, "ProfilerStep#3 to ProfilerStep#5");
  EXPECT_EQ(growth->series.rows.front().growth.slope, 30);
  EXPECT_EQ(growth->series.rows.front().series.front(), 30);
}

TEST(GrowthOfHistory, MoreValuesThanTheLimitAreAnError) {
  RecordingBuilder builder;
  const StringId text = builder.Intern("f");
  const StringId file = builder.Intern("train.py");
  const FunctionId function =
      builder.AddFunction({.name = text, .system_name = text, .filename = file});
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < kMaxValues / kMaxParts + 1; ++i) {
    const Line line{.function = function, .line = static_cast<std::int64_t>(i) + 1};
    const LocationId location = builder.AddLocation({}, std::array{line});
    events.push_back({.key = i,
                      .size = 1,
                      .stack = builder.AddStack(std::array{location}),
                      .action = Action::kAlloc});
  }
  const Recording recording =
      test::MakeRecording(test::BuildHistory(std::move(events)), {}, std::move(builder));
  const auto growth = Grow(recording, {.parts = kMaxParts}, "line");
  ASSERT_FALSE(growth.has_value());
  EXPECT_EQ(growth.error().code, ErrorCode::kLimit);
  EXPECT_TRUE(Grow(recording, {.parts = 2}, "line").has_value());
}

TEST(GrowthOfHistory, TwoMarksAreTooFewUnlessNamed) {
  const Recording recording = LeakySteps(2, true).Finish();
  EXPECT_EQ(Grow(recording, {})->mark, "");
  EXPECT_EQ(Grow(recording, {.mark = "ProfilerStep"})->series.points.size(), 2U);
  const auto one = Grow(recording, {.mark = "ProfilerStep#1"});
  ASSERT_FALSE(one.has_value());
  EXPECT_THAT(one.error().message, HasSubstr("has 1"));
  const auto none = Grow(recording, {.mark = "epoch"});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("no mark is called 'epoch'"));
}

TEST(GrowthOfHistory, LowestOfPartsIgnoresWhatIterationsFree) {
  const Recording recording = LeakySteps(50, false).Finish();
  const auto growth = Grow(recording, {.parts = 10});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->measure, StepMeasure::kLow);
  const GrowthRow& leak = growth->series.rows.front();
  EXPECT_EQ(leak.name, "f2");
  EXPECT_EQ(leak.growth.kind, GrowthKind::kSteady);
  EXPECT_EQ(leak.growth.slope, 50);  // five iterations a part
  for (const GrowthRow& row : growth->series.rows) {
    EXPECT_NE(row.name, "f1");  // low in every part, whatever it held in between
  }
}

TEST(GrowthOfHistory, PartsByTimeAndByEventsAgreeOnAnEvenClock) {
  const Recording recording = LeakySteps(30, false).Finish();
  const auto by_event = Grow(recording, {.parts = 7, .measure = StepMeasure::kEnd});
  const auto by_time = Grow(recording, {.parts = 7, .by_time = true, .measure = StepMeasure::kEnd});
  ASSERT_TRUE(by_event.has_value() && by_time.has_value());
  ASSERT_EQ(by_time->series.points.size(), 7U);
  EXPECT_EQ(by_time->series.points.back().event, by_event->series.points.back().event);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(static_cast<double>(by_time->series.points[i].event),
                static_cast<double>(by_event->series.points[i].event), 1.0);
  }
}

TEST(GrowthOfHistory, SplitsByStackLabelAndStreamAndRefusesTheRest) {
  const Recording recording = LeakySteps(4, true).Finish();
  EXPECT_THAT(MakeSeries(*Grow(recording, {}, "stack")).at("f2"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(MakeSeries(*Grow(recording, {}, "label:stream")).at("0x0"),
              ElementsAre(5010, 5020, 5030, 5040));
  EXPECT_FALSE(Grow(recording, {}, "size").has_value());
  EXPECT_FALSE(Grow(recording, {.device = "7"}).has_value());
  EXPECT_FALSE(
      Grow(recording, {.range = {*ParseMoment("event:5"), *ParseMoment("event:5")}}).has_value());
}

TEST(GrowthOfHistory, TooFewEventsAreAnError) {
  Maker maker;
  maker.Alloc(1, 1, 0);
  const Recording recording = maker.Finish();
  const auto growth = Grow(recording, {});
  ASSERT_FALSE(growth.has_value());
  EXPECT_THAT(growth.error().message, HasSubstr("growth needs two steps"));
}

}  // namespace
}  // namespace memtool
