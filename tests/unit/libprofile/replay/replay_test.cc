// Replaying against a plain simulation: the same history, written down the slow and obvious way.
#include "memtool/profile/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "memtool/profile/base/device_name.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/saves.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kStacks = 5;  // stack 4 has no frames

// A history with everything that hurts: blocks from before the recording (freed in it, or living
// on), delayed frees, addresses used again, OOM events, and time stamps.
class HistoryMaker {
 public:
  explicit HistoryMaker(std::uint32_t seed, int events = 400) : random_(seed) {
    for (std::uint32_t i = 0; i + 1 < kStacks; ++i) {
      const std::string name = "f" + std::to_string(i);
      const StringId text = builder_.Intern(name);
      const Line line{
          .function = builder_.AddFunction(
              {.name = text, .system_name = text, .filename = builder_.Intern("model.py")}),
          .line = i + 1};
      const LocationId location = builder_.AddLocation({}, std::array{line});
      stacks_.push_back(builder_.AddStack(std::array{location}));
    }
    stacks_.push_back(builder_.AddStack({}));
    for (int i = 0; i < 6; ++i) {
      before_.emplace_back(NextAddress(), Size());
    }
    for (int i = 0; i < events; ++i) {
      Step();
    }
  }

  // `standing`: more bytes from before the recording, of which only the sum is told.
  Recording Finish(std::int64_t standing = 0) {
    History history;
    history.ledgers = {{.name = "segments", .device = 0, .level = LedgerLevel::kDriver},
                       {.name = "blocks", .device = 0, .parent = LedgerId(0U)}};
    history.streams = {0};
    history.clock = Clock::kUnix;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      events_[i].time = 1'000'000'000 + static_cast<std::int64_t>(i) * 1'000'000;
    }
    history.events = events_;
    history.marks = {{.name = "step", .begin = 1'000'000'000, .end = 1'010'000'000},
                     {.name = "step", .begin = 1'020'000'000}};
    history.traces = {{.device = 0,
                       .name = "0",
                       .first_event = 0,
                       .event_count = events_.size(),
                       .blocks = LedgerId(1U),
                       .segments = LedgerId(0U),
                       .standing_bytes = standing}};
    AllocatorState state;
    for (const auto& [address, size] : before_) {
      state.blocks.push_back({.address = address, .size = size, .requested = size});
    }
    for (const auto& [address, block] : live_) {
      state.blocks.push_back(
          {.address = address,
           .size = block.size,
           .requested = block.size,
           .stack = block.stack,
           .state = block.pending ? BlockState::kPendingFree : BlockState::kActive});
    }
    for (std::size_t i = 0; i < before_.size(); ++i) {
      state.blocks[i].state = BlockState::kActive;
    }
    state.segments = {{.address = 0,
                       .size = 1'000'000,
                       .device = 0,
                       .block_count = static_cast<std::uint32_t>(state.blocks.size())}};
    builder_.SetHistory(std::move(history));
    builder_.SetState(std::move(state));
    auto recording = std::move(builder_).Finish();
    EXPECT_TRUE(recording) << ToString(recording.error());
    return *std::move(recording);
  }

 private:
  struct Live {
    std::int64_t size;
    StackId stack;
    bool pending = false;
  };

  std::uint32_t Below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }
  std::int64_t Size() { return 1 + Below(1000); }
  // Addresses of freed blocks come again.
  std::uint64_t NextAddress() {
    if (!free_.empty() && Below(2) == 0) {
      const std::uint64_t address = free_.back();
      free_.pop_back();
      return address;
    }
    return next_address_ += 512;
  }
  void Put(Action action, std::uint64_t key, std::int64_t size, StackId stack) {
    events_.push_back({.key = key, .size = size, .stack = stack, .ledger = 1, .action = action});
  }

  void Step() {
    const std::uint32_t dice = Below(20);
    if (dice == 0 && !before_.empty() && Below(3) == 0) {
      const auto [address, size] = before_.back();
      before_.pop_back();
      Put(Action::kFreeRequested, address, size, stacks_[0]);
      Put(Action::kFreeCompleted, address, size, stacks_[0]);
      free_.push_back(address);
    } else if (dice == 1) {
      Put(Action::kOom, 12, 5000, stacks_[1]);
    } else if (dice < 11 || live_.empty()) {
      const std::uint64_t address = NextAddress();
      const Live block{.size = Size(), .stack = stacks_[Below(kStacks)]};
      Put(Action::kAlloc, address, block.size, block.stack);
      live_[address] = block;
    } else {
      Free();
    }
  }

  void Free() {
    auto it = live_.begin();
    std::advance(it, Below(static_cast<std::uint32_t>(live_.size())));
    Live& block = it->second;
    if (!block.pending) {
      Put(Action::kFreeRequested, it->first, block.size, StackId());
      block.pending = true;
      if (Below(3) == 0) {
        return;  // a stream still uses it
      }
    }
    Put(Action::kFreeCompleted, it->first, block.size, StackId());
    free_.push_back(it->first);
    live_.erase(it);
  }

  std::mt19937 random_;
  RecordingBuilder builder_;
  std::vector<StackId> stacks_;
  std::vector<Event> events_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> before_;  // still there from before
  std::map<std::uint64_t, Live> live_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_address_ = 0x7f0000000000;
};

// The slow and obvious replay: live bytes after each event, index 0 = before the first. Allocations
// of `without` (a stack, or nothing) are left out; kBefore leaves out what was there before.
constexpr int kNobody = -1;
constexpr int kBefore = -2;
std::vector<std::int64_t> Series(const Recording& recording, int without = kNobody) {
  const Trace& trace = recording.history->traces[0];
  const auto events = EventsOf(recording, trace);
  std::map<std::uint64_t, std::uint32_t> open;  // address → stack of its allocation
  std::int64_t base = 0;
  std::vector<std::int64_t> changes;
  for (const Event& event : events) {
    std::int64_t change = 0;
    if (event.action == Action::kAlloc) {
      open[event.key] = event.stack.value();
      change = static_cast<int>(event.stack.value()) == without ? 0 : event.size;
    } else if (event.action == Action::kFreeCompleted) {
      const auto at = open.find(event.key);
      if (at == open.end()) {
        base += without == kBefore ? 0 : event.size;
        change = without == kBefore ? 0 : -event.size;
      } else {
        change = static_cast<int>(at->second) == without ? 0 : -event.size;
        open.erase(at);
      }
    }
    changes.push_back(change);
  }
  for (const Block& block : recording.state->blocks) {
    if (block.state != BlockState::kInactive && open.count(block.address) == 0) {
      base += without == kBefore ? 0 : block.requested;
    }
  }
  std::vector<std::int64_t> series{base};
  for (const std::int64_t change : changes) {
    series.push_back(series.back() + change);
  }
  return series;
}

class ReplayOf : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ReplayOf, SummaryIsTheSimulations) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const TraceSummary s = Replay(recording, recording.history->traces[0]).Summarize();
  const auto series = Series(recording);
  const auto peak = std::max_element(series.begin(), series.end());
  EXPECT_EQ(s.base_bytes, series.front());
  EXPECT_EQ(s.peak_bytes, *peak);
  EXPECT_EQ(s.peak_event, peak - series.begin() - 1);
  EXPECT_EQ(s.end_bytes, series.back());
  EXPECT_TRUE(s.reconciles());
  // With one device the job's peak is the device's.
  EXPECT_EQ(
      ResolveMoment(recording, recording.history->traces[0], *ParseMoment("job-peak")).value(),
      s.peak_event);
  EXPECT_GT(s.pending_free_bytes, 0);  // the case that is easy to forget
}

TEST_P(ReplayOf, LiveBlocksSumToTheLiveBytesAtEveryEvent) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const Replay replay(recording, recording.history->traces[0]);
  const auto series = Series(recording);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::int64_t sum = 0;
    for (const LiveBlock& block : replay.LiveAt(static_cast<std::int64_t>(i) - 1)) {
      sum += block.size;
    }
    ASSERT_EQ(sum, series[i]) << "after event " << static_cast<std::int64_t>(i) - 1;
  }
}

TEST_P(ReplayOf, EndIsTheAllocatorsState) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const Trace& trace = recording.history->traces[0];
  std::map<std::uint64_t, std::pair<std::int64_t, bool>> wanted;
  for (const Block& block : recording.state->blocks) {
    wanted[block.address] = {block.requested, block.state == BlockState::kPendingFree};
  }
  std::map<std::uint64_t, std::pair<std::int64_t, bool>> got;
  for (const LiveBlock& block :
       Replay(recording, trace).LiveAt(static_cast<std::int64_t>(trace.event_count) - 1)) {
    got[block.address] = {block.size, block.pending_free};
  }
  EXPECT_EQ(got, wanted);
}

TEST_P(ReplayOf, PeakWithoutIsBruteForces) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  std::vector<std::uint32_t> of_stack;
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    of_stack.push_back(i);
  }
  // One group per stack; without frames is the stack of no frames; before the recording the last.
  const auto peaks = Replay(recording, recording.history->traces[0])
                         .PeakWithout({of_stack, kStacks, kStacks - 1, kStacks + 1});
  for (std::uint32_t stack = 0; stack < kStacks; ++stack) {
    const auto series = Series(recording, static_cast<int>(stack));
    EXPECT_EQ(peaks[stack], *std::max_element(series.begin(), series.end())) << "stack " << stack;
  }
  const auto series = Series(recording, kBefore);
  EXPECT_EQ(peaks[kStacks], *std::max_element(series.begin(), series.end()));
}

TEST_P(ReplayOf, RowsSumToTheMomentAndSaveWhatTheyMust) {
  const auto series = Series(HistoryMaker(GetParam()).Finish());
  for (const char* at : {"start", "event:17", "peak", "end"}) {
    const auto spec = ParseMoment(at);
    ASSERT_TRUE(spec);
    std::vector<MomentOfTrace> moments;
    auto standing = AtMoment(HistoryMaker(GetParam()).Finish(), *spec, "", &moments);
    ASSERT_TRUE(standing) << ToString(standing.error());
    FilterOptions options;
    options.frames = FrameMode::kAll;
    const auto filter = Filter::Compile(options);
    const View view(*standing, *filter);
    const auto choice = ChooseValue(*standing, "");
    const StackSums sums = SumByStack(view, *choice);
    NodeSpace space;
    Tabulator table({}, space);
    table.Add({.view = &view, .sums = &sums, .choice = &*choice});
    const auto rows = table.Rows(SortBy::kFlat);
    std::int64_t flat = 0;
    for (const Row& row : rows) {
      flat += row.value.flat;
    }
    EXPECT_EQ(flat, series[static_cast<std::size_t>(moments[0].event + 1)]) << at;
    const auto without = PeakWithoutRows(view, moments, rows, Granularity::kFileFunction, space);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(without[i], moments[0].summary.peak_bytes) << rows[i].name;
      EXPECT_GE(without[i], 0) << rows[i].name;
    }
  }
}

AllocationGroups GroupByStackId(const Recording& recording) {
  AllocationGroups groups;
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    groups.names.push_back({.name = std::to_string(i)});
    groups.of_stack.push_back(i);
  }
  return groups;
}

TEST_P(ReplayOf, TimelineIsWhatIsLiveAtEveryPoint) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const std::vector<std::uint32_t> chosen{2, 4, 0};
  const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
  const Timeline timeline =
      TimelineMaker(recording, trace, replay, groups).Make({.last = last}, chosen, true);
  const auto series = Series(recording);
  std::size_t changes = 1;
  for (std::size_t i = 1; i < series.size(); ++i) {
    changes += series[i] != series[i - 1] ? 1 : 0;
  }
  EXPECT_EQ(timeline.points.size(), changes);
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    // Sums of what LiveAt lists, by hand.
    std::vector<std::int64_t> wanted(chosen.size() + 2, 0);
    for (const LiveBlock& block : replay.LiveAt(point.event)) {
      const auto named = block.stack.valid()
                             ? std::find(chosen.begin(), chosen.end(), block.stack.value())
                             : chosen.end();
      const std::ptrdiff_t layer = block.before_recording ? 3 : named - chosen.begin();
      wanted[static_cast<std::size_t>(!block.before_recording && layer == 3 ? 4 : layer)] +=
          block.size;
    }
    const auto layers = timeline.LayersOf(i);
    ASSERT_EQ(std::vector(layers.begin(), layers.end()), wanted) << "after event " << point.event;
    ASSERT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), point.allocated);
    ASSERT_EQ(point.allocated, series[static_cast<std::size_t>(point.event + 1)]);
    highest = std::max(highest, point.allocated);
  }
  EXPECT_EQ(highest, replay.Summarize().peak_bytes);
}

// A sum that the format gives is in the base, and nowhere else changes anything.
TEST_P(ReplayOf, StandingBytesAreInEverySum) {
  constexpr std::int64_t kStanding = 123'457;
  const Recording recording = HistoryMaker(GetParam()).Finish(kStanding);
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const TraceSummary s = replay.Summarize();
  const auto series = Series(recording);  // without it
  EXPECT_EQ(s.base_bytes, series.front() + kStanding);
  EXPECT_EQ(s.start_bytes, s.base_bytes);
  EXPECT_EQ(s.peak_bytes, *std::max_element(series.begin(), series.end()) + kStanding);
  EXPECT_EQ(s.end_bytes, series.back() + kStanding);
  for (const std::int64_t last : {std::int64_t{-1}, std::int64_t{150}, s.peak_event}) {
    std::int64_t live = 0;
    for (const LiveBlock& block : replay.LiveAt(last)) {
      live += block.size;
    }
    EXPECT_EQ(live, series[static_cast<std::size_t>(last + 1)] + kStanding);
  }
  const AllocationGroups groups = GroupByStackId(recording);
  const Timeline timeline =
      TimelineMaker(recording, trace, replay, groups)
          .Make({.last = static_cast<std::int64_t>(trace.event_count) - 1}, {}, true);
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    EXPECT_EQ(point.allocated, series[static_cast<std::size_t>(point.event + 1)] + kStanding);
    EXPECT_EQ(timeline.LayersOf(i)[0] + timeline.LayersOf(i)[1], point.allocated);
    EXPECT_GE(timeline.LayersOf(i)[0], kStanding);
  }
  const auto peaks = replay.PeakWithout({groups.of_stack, kStacks, kStacks - 1, kStacks + 1});
  const auto without = Series(recording, kBefore);
  EXPECT_EQ(peaks[kStacks], *std::max_element(without.begin(), without.end()));
}

TEST_P(ReplayOf, PartsOfATimelineKeepTheirHighest) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const TimelineMaker maker(recording, trace, replay, groups);
  const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
  const auto series = Series(recording);
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{100}}) {
    for (const std::size_t parts : {1U, 7U, 60U, 5000U}) {
      for (const bool by_time : {false, true}) {
        const Timeline timeline = maker.Make({first, last, parts, by_time}, {}, false);
        EXPECT_LE(timeline.points.size(), parts + 3);
        EXPECT_EQ(timeline.points.front().event, first);
        EXPECT_EQ(timeline.points.back().allocated, series.back());
        std::int64_t highest = 0;
        std::int64_t before = first - 1;
        for (const TimelinePoint& point : timeline.points) {
          EXPECT_GT(point.event, before);
          before = point.event;
          EXPECT_EQ(point.allocated, series[static_cast<std::size_t>(point.event + 1)]);
          highest = std::max(highest, point.allocated);
        }
        EXPECT_EQ(highest, *std::max_element(series.begin() + first + 1, series.end()));
      }
    }
  }
}

TEST_P(ReplayOf, GroupsAreRankedByTheirOwnHighest) {
  const Recording recording = HistoryMaker(GetParam()).Finish();
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const TimelineMaker maker(recording, trace, replay, groups);
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{150}}) {
    const TimelineRange range{.first = first,
                              .last = static_cast<std::int64_t>(trace.event_count) - 1};
    const auto highest = maker.Highest(range);
    for (std::uint32_t group = 0; group < kStacks; ++group) {
      const Timeline own = maker.Make(range, std::array{group}, true);
      std::int64_t wanted = 0;
      for (std::size_t i = 0; i < own.points.size(); ++i) {
        wanted = std::max(wanted, own.LayersOf(i)[0]);
      }
      EXPECT_EQ(highest[group], wanted) << "group " << group;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReplayOf, ::testing::Range(1U, 25U));

Result<std::int64_t> Resolve(std::string_view text) {
  const Recording recording = HistoryMaker(7).Finish();
  const auto spec = ParseMoment(text);
  if (!spec) {
    return Fail(spec.error());
  }
  return ResolveMoment(recording, recording.history->traces[0], *spec);
}

TEST(Moment, Words) {
  EXPECT_EQ(Resolve("start").value(), -1);
  EXPECT_EQ(Resolve("event:5").value(), 5);
  EXPECT_EQ(Resolve("time:0").value(), 0);
  EXPECT_EQ(Resolve("time:0.0035s").value(), 3);
  EXPECT_EQ(Resolve("time:@1.002").value(), 2);
  EXPECT_EQ(Resolve("time:@0.5").value(), -1);
  EXPECT_EQ(Resolve("mark:step").value(), 0);
  EXPECT_EQ(Resolve("mark:step:end").value(), 10);
  EXPECT_EQ(Resolve("mark:step#1").value(), 20);
  EXPECT_EQ(Resolve("mark:step#-1").value(), 20);
  const std::int64_t last = Resolve("oom").value();
  EXPECT_EQ(Resolve("oom:-1").value(), last);
  EXPECT_LT(Resolve("oom:0").value(), last);
}

TEST(Moment, WhatIsNotThereIsSaid) {
  const std::array<std::pair<const char*, const char*>, 9> wrong{{
      {"midnight", "no such moment"},
      {"event:x", "whole number"},
      {"event:99999", "events 0 to"},
      {"event:-2", "events 0 to"},
      {"time:soon", "seconds"},
      {"mark:nothing", "no such mark"},
      {"mark:step#1:end", "no recorded end"},
      {"oom:9999", "only"},
      {"step:3", "no such mark"},
  }};
  for (const auto& [text, words] : wrong) {
    const auto event = Resolve(text);
    ASSERT_FALSE(event) << text;
    EXPECT_EQ(event.error().code, ErrorCode::kUsage) << text;
    EXPECT_THAT(ToString(event.error()), HasSubstr(words)) << text;
  }
}

TEST(Device, MatchesByOrdinalOrName) {
  EXPECT_TRUE(DeviceMatches("cuda:3", "3"));
  EXPECT_TRUE(DeviceMatches("TPU_3(process=0,(1,0,0,1))", "3"));
  EXPECT_TRUE(DeviceMatches("3", "3"));
  EXPECT_TRUE(DeviceMatches("cuda:3", "cuda:3"));
  EXPECT_FALSE(DeviceMatches("cuda:13", "3"));
  EXPECT_FALSE(DeviceMatches("TPU_0(process=3,(1,0,0,1))", "3"));
  EXPECT_FALSE(DeviceMatches("TFRT_CPU_0", "cuda:0"));
}

}  // namespace
}  // namespace memtool
