// Replaying against a plain simulation: the same history, written down the slow and obvious way.
#include "memtool/profile/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "memtool/profile/base/device_name.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/saves.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_history.h"

namespace memtool {
namespace {

using ::testing::HasSubstr;

using test::kRandomStacks;  // the last one has no frames
using test::RandomHistory;

// The slow and obvious replay: live bytes after each event, index 0 = before the first. Allocations
// of `without` (a stack, or nothing) are left out; kBefore leaves out what was there before.
constexpr int kNobody = -1;
constexpr int kBefore = -2;
std::vector<std::int64_t> BytesOverTime(const Recording& recording, int without = kNobody) {
  const Trace& trace = recording.history->traces[0];
  const auto events = GetEvents(recording, trace);
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

class ReplaySum : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ReplaySum, SummaryIsTheSimulations) {
  const Recording recording = RandomHistory(GetParam());
  const TraceSummary s = Replay(recording, recording.history->traces[0]).Summarize();
  const auto series = BytesOverTime(recording);
  const auto peak = std::max_element(series.begin(), series.end());
  EXPECT_EQ(s.base_bytes, series.front());
  EXPECT_EQ(s.peak_bytes, *peak);
  EXPECT_EQ(s.peak_event, peak - series.begin() - 1);
  EXPECT_EQ(s.end_bytes, series.back());
  EXPECT_TRUE(s.reconciles());
  // With one device the job's peak is the device's.
  const HistoryIndex index(recording);
  EXPECT_EQ(ResolveMoment(index, index.history().traces[0], *ParseMoment("job-peak")).value(),
            s.peak_event);
  EXPECT_GT(s.pending_free_bytes, 0);  // the case that is easy to forget
}

// Both sides are at the end of the range; the blocks' true sum is 4,096 above it.
TEST(TraceSummary, ASumBeyondTheRangeReconcilesNothing) {
  TraceSummary s;
  s.end_bytes = INT64_MAX;
  s.live_block_bytes = INT64_MAX;
  EXPECT_TRUE(s.reconciles());
  s.pending_free_bytes = 4096;
  EXPECT_FALSE(s.reconciles());
}

TEST_P(ReplaySum, LiveBlocksSumToTheLiveBytesAtEveryEvent) {
  const Recording recording = RandomHistory(GetParam());
  const Replay replay(recording, recording.history->traces[0]);
  const auto series = BytesOverTime(recording);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::int64_t sum = 0;
    for (const LiveBlock& block : replay.LiveAt(static_cast<std::int64_t>(i) - 1)) {
      sum += block.size;
    }
    ASSERT_EQ(sum, series[i]) << "after event " << static_cast<std::int64_t>(i) - 1;
  }
}

TEST_P(ReplaySum, EndIsTheAllocatorsState) {
  const Recording recording = RandomHistory(GetParam());
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

TEST_P(ReplaySum, PeakWithoutIsBruteForces) {
  const Recording recording = RandomHistory(GetParam());
  std::vector<std::uint32_t> of_stack;
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    of_stack.push_back(i);
  }
  // One group per stack; without frames is the stack of no frames; before the recording the last.
  const auto peaks =
      Replay(recording, recording.history->traces[0])
          .PeakWithout({of_stack, kRandomStacks, kRandomStacks - 1, kRandomStacks + 1});
  for (std::uint32_t stack = 0; stack < kRandomStacks; ++stack) {
    const auto series = BytesOverTime(recording, static_cast<int>(stack));
    EXPECT_EQ(peaks[stack], *std::max_element(series.begin(), series.end())) << "stack " << stack;
  }
  const auto series = BytesOverTime(recording, kBefore);
  EXPECT_EQ(peaks[kRandomStacks], *std::max_element(series.begin(), series.end()));
}

// Groups that share allocations are what each of them is alone.
TEST_P(ReplaySum, PeakWithoutSharedGroups) {
  const Recording recording = RandomHistory(GetParam());
  const Replay replay(recording, recording.history->traces[0]);
  // Group k: stacks k and k + 1.
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    members.push_back(i);
    if (i > 0) {
      members.push_back(i - 1);
    }
    first.push_back(static_cast<std::uint32_t>(members.size()));
  }
  const std::size_t count = recording.stack_count();
  const auto shared =
      replay.PeakWithout(Replay::SharedGroups{.first = first, .members = members, .count = count});
  for (std::uint32_t group = 0; group < count; ++group) {
    std::vector<std::uint32_t> alone(count, Replay::kNoGroup);
    alone[group] = 0;
    if (group + 1 < count) {
      alone[group + 1] = 0;
    }
    EXPECT_EQ(shared[group],
              replay.PeakWithout(Replay::Groups{.of_stack = alone, .count = 1}).front())
        << group;
  }
}

TEST_P(ReplaySum, RowsSumToTheMomentAndSaveWhatTheyMust) {
  const HistoryIndex index(RandomHistory(GetParam()));
  const auto series = BytesOverTime(index.recording());
  for (const char* at : {"start", "event:17", "peak", "end"}) {
    const auto spec = ParseMoment(at);
    ASSERT_TRUE(spec);
    const auto live = AtMoment(index, *spec, "");
    ASSERT_TRUE(live) << ToString(live.error());
    const Recording* standing = live->recording.get();
    const std::vector<MomentOfTrace>& moments = live->moments;
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
    const auto without =
        PeakWithoutRows(index, view, moments,
                        {.rows = rows, .granularity = Granularity::kFileFunction, .space = &space});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(without[i].own, moments[0].summary.peak_bytes) << rows[i].name.view();
      EXPECT_LE(without[i].with_callees, without[i].own) << rows[i].name.view();
      EXPECT_GE(without[i].with_callees, 0) << rows[i].name.view();
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

TEST_P(ReplaySum, TimelineIsWhatIsLiveAtEveryPoint) {
  const Recording recording = RandomHistory(GetParam());
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const std::vector<std::uint32_t> chosen{2, 4, 0};
  const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
  const Timeline timeline =
      TimelineMaker(recording, trace, replay, groups, replay.Summarize().reserved_base_bytes)
          .Make({.last = last}, chosen, true);
  const auto series = BytesOverTime(recording);
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
    const auto layers = timeline.GetLayers(i);
    ASSERT_EQ(std::vector(layers.begin(), layers.end()), wanted) << "after event " << point.event;
    ASSERT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), point.allocated);
    ASSERT_EQ(point.allocated, series[static_cast<std::size_t>(point.event + 1)]);
    highest = std::max(highest, point.allocated);
  }
  EXPECT_EQ(highest, replay.Summarize().peak_bytes);
}

// A sum that the format gives is in the base, and changes nothing else.
TEST_P(ReplaySum, StandingBytesAreInEverySum) {
  constexpr std::int64_t kStanding = 123'457;
  const Recording recording = RandomHistory(GetParam(), kStanding);
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const TraceSummary s = replay.Summarize();
  const auto series = BytesOverTime(recording);  // without it
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
      TimelineMaker(recording, trace, replay, groups, replay.Summarize().reserved_base_bytes)
          .Make({.last = static_cast<std::int64_t>(trace.event_count) - 1}, {}, true);
  for (std::size_t i = 0; i < timeline.points.size(); ++i) {
    const TimelinePoint& point = timeline.points[i];
    EXPECT_EQ(point.allocated, series[static_cast<std::size_t>(point.event + 1)] + kStanding);
    EXPECT_EQ(timeline.GetLayers(i)[0] + timeline.GetLayers(i)[1], point.allocated);
    EXPECT_GE(timeline.GetLayers(i)[0], kStanding);
  }
  const auto peaks =
      replay.PeakWithout({groups.of_stack, kRandomStacks, kRandomStacks - 1, kRandomStacks + 1});
  const auto without = BytesOverTime(recording, kBefore);
  EXPECT_EQ(peaks[kRandomStacks], *std::max_element(without.begin(), without.end()));
}

TEST_P(ReplaySum, PartsOfATimelineKeepTheirHighest) {
  const Recording recording = RandomHistory(GetParam());
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const TimelineMaker maker(recording, trace, replay, groups,
                            replay.Summarize().reserved_base_bytes);
  const auto last = static_cast<std::int64_t>(trace.event_count) - 1;
  const auto series = BytesOverTime(recording);
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

// Totals of any event, in any order; and the parts of a range, which begin with what is live there.
TEST_P(ReplaySum, ARangeIsAsTheWalkToIt) {
  const HistoryIndex index(RandomHistory(GetParam()));
  const Recording& recording = index.recording();
  const Trace& trace = recording.history->traces[0];
  const AllocationGroups groups = GroupByStackId(recording);
  const std::int64_t reserved_base = index.summary(0).reserved_base_bytes;
  const TimelineMaker maker(recording, trace, index.replay(0), groups, reserved_base);
  const auto series = BytesOverTime(recording);
  const auto count = static_cast<std::int64_t>(trace.event_count);
  for (const std::int64_t first : {count - 1, std::int64_t{0}, count / 2, std::int64_t{-1}}) {
    std::int64_t reserved = reserved_base;
    for (std::int64_t i = 0; i <= first; ++i) {
      reserved += ReservedChange(index.replay(0).events()[static_cast<std::size_t>(i)]);
    }
    const Totals totals = index.TotalsAfter(0, first);
    EXPECT_EQ(totals.live, series[static_cast<std::size_t>(first + 1)]);
    EXPECT_EQ(totals.reserved, reserved);
    TimelineRange range{.first = first, .last = count - 1, .points = 9};
    const auto highest = maker.Highest(range);
    const Timeline walked = maker.Make(range, std::array{2U, 4U}, true);
    range.at_first = totals;
    EXPECT_EQ(maker.Highest(range), highest);
    const Timeline listed = maker.Make(range, std::array{2U, 4U}, true);
    EXPECT_EQ(listed.layers, walked.layers);
    ASSERT_EQ(listed.points.size(), walked.points.size());
    for (std::size_t i = 0; i < listed.points.size(); ++i) {
      const auto fields = [](const TimelinePoint& point) {
        return std::tuple(point.event, point.time, point.allocated, point.reserved, point.lowest);
      };
      EXPECT_EQ(fields(listed.points[i]), fields(walked.points[i])) << i;
    }
  }
}

TEST_P(ReplaySum, GroupsAreRankedByTheirOwnHighest) {
  const Recording recording = RandomHistory(GetParam());
  const Trace& trace = recording.history->traces[0];
  const Replay replay(recording, trace);
  const AllocationGroups groups = GroupByStackId(recording);
  const TimelineMaker maker(recording, trace, replay, groups,
                            replay.Summarize().reserved_base_bytes);
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{150}}) {
    const TimelineRange range{.first = first,
                              .last = static_cast<std::int64_t>(trace.event_count) - 1};
    const auto highest = maker.Highest(range);
    for (std::uint32_t group = 0; group < kRandomStacks; ++group) {
      const Timeline own = maker.Make(range, std::array{group}, true);
      std::int64_t wanted = 0;
      for (std::size_t i = 0; i < own.points.size(); ++i) {
        wanted = std::max(wanted, own.GetLayers(i)[0]);
      }
      EXPECT_EQ(highest[group], wanted) << "group " << group;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReplaySum, ::testing::Range(1U, 25U));

Result<std::int64_t> Resolve(std::string_view text) {
  const HistoryIndex index(RandomHistory(7));
  const auto spec = ParseMoment(text);
  if (!spec) {
    return Fail(spec.error());
  }
  return ResolveMoment(index, index.history().traces[0], *spec);
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
      {"oom:9999", "recorded: oom:0 to oom:14"},
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
