// Totals that no block tells: events without an address, sums beyond 64 bits, and allocations from
// before the recording that a file lists like others.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/top.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/replay/replay.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kMost = INT64_MAX;

Event Adjust(std::int64_t bytes) {
  return {.size = bytes, .stack = StackId(), .action = Action::kAdjust};
}
Event Alloc(std::uint64_t address, std::int64_t bytes) {
  return {.key = address, .size = bytes, .stack = StackId(), .action = Action::kAlloc};
}
Event Free(std::uint64_t address, std::int64_t bytes) {
  return {.key = address, .size = bytes, .stack = StackId(), .action = Action::kFreeCompleted};
}

Recording Made(std::vector<Event> events, std::int64_t preexisting = 0) {
  History history = test::BuildHistory(std::move(events));
  history.traces[0].preexisting_bytes = preexisting;
  return test::MakeRecording(std::move(history));
}

std::int64_t SumAt(const Replay& replay, std::int64_t event) {
  std::int64_t sum = 0;
  for (const LiveBlock& block : replay.LiveAt(event)) {
    EXPECT_GT(block.size, 0);
    sum += block.size;
  }
  return sum;
}

TEST(WithoutAddress, WhatIsFreedOfEarlierMemoryWasThereBefore) {
  const Recording recording = Made({Adjust(100), Adjust(-250), Adjust(30)}, 400);
  const Replay replay(recording, recording.history->traces[0]);
  EXPECT_EQ(replay.base_without_address(), 150);
  EXPECT_EQ(replay.preexisting(), 250);  // of the 400
  EXPECT_EQ(replay.Summarize().base_bytes, 400);
  EXPECT_EQ(replay.Summarize().peak_bytes, 500);
  EXPECT_EQ(replay.Summarize().end_bytes, 280);
  const Recording unknown = Made({Adjust(-250)});
  EXPECT_EQ(Replay(unknown, unknown.history->traces[0]).Summarize().base_bytes, 250);
}

// Rows, timeline, and the peak without the row, of events in any order.
TEST(WithoutAddress, BlocksSumToWhatIsLiveAtEveryEvent) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < 30; ++i) {
      const auto size = static_cast<std::int64_t>(random() % 1000);
      events.push_back(random() % 3 == 0   ? Alloc(random() % 5 + 1, size + 1)
                       : random() % 2 == 0 ? Free(random() % 5 + 1, size + 1)
                                           : Adjust(size - 500));
    }
    const auto preexisting = static_cast<std::int64_t>(random() % 2000);
    const HistoryIndex index(Made(std::move(events), preexisting));
    const Trace& trace = index.history().traces[0];
    const Replay& replay = index.replay(trace);
    const AllocationGroups groups;
    const Timeline timeline = TimelineMaker(index.recording(), trace, replay, groups,
                                            index.summary(trace).reserved_base_bytes)
                                  .Make({.first = -1, .last = 29, .points = 0}, {}, false);
    std::int64_t most = 0;
    for (const TimelinePoint& point : timeline.points) {
      EXPECT_EQ(SumAt(replay, point.event), point.allocated) << point.event;
      most = std::max(most, point.allocated);
    }
    const TraceSummary& s = index.summary(trace);
    EXPECT_EQ(s.peak_bytes, most);
    EXPECT_EQ(SumAt(replay, s.peak_event), s.peak_bytes);
    EXPECT_EQ(SumAt(replay, 29), s.end_bytes);
    std::vector<Event> blocks(index.history().events.begin(), index.history().events.end());
    std::erase_if(blocks, [](const Event& event) { return event.action == Action::kAdjust; });
    const Recording without = Made(std::move(blocks), replay.preexisting());
    const auto peaks = replay.PeakWithout({.count = 1, .without_address = 0});
    EXPECT_EQ(peaks[0], Replay(without, without.history->traces[0]).Summarize().peak_bytes);
  }
}

TEST(WithoutAddress, IsARowOfTop) {
  auto selection =
      Select(Made({Alloc(1, 10), Adjust(100), Adjust(-40)}), {.moment = *ParseMoment("end")});
  ASSERT_TRUE(selection);
  const TopAnswer top = Top(*std::move(selection));
  EXPECT_EQ(top.total, 70);
  ASSERT_EQ(top.rows.size(), 2U);
  EXPECT_EQ(top.rows[0].name, "(without an address)");
  EXPECT_EQ(top.rows[0].flat, 60);
}

TEST(RunningAdd, StaysWhereItWasClamped) {
  EXPECT_EQ(RunningAdd(5, -7), -2);
  EXPECT_EQ(RunningAdd(kMost - 1, 2), kMost);
  EXPECT_EQ(RunningAdd(kMost, -2), kMost);
  EXPECT_EQ(RunningAdd(INT64_MIN, 2), INT64_MIN);
  EXPECT_EQ(Unclamped(kMost), std::nullopt);
  EXPECT_EQ(Unclamped(INT64_MIN), std::nullopt);
  EXPECT_EQ(Unclamped(-2), -2);
}

TEST(BeyondTheRange, NothingIsKnownFromThereOn) {
  const std::vector<Event> events{Alloc(1, 5), Alloc(2, kMost), Free(2, kMost), Free(1, 5)};
  const Recording recording = Made(events);
  const Replay replay(recording, recording.history->traces[0]);
  const TraceSummary s = replay.Summarize();
  EXPECT_EQ(Unclamped(s.start_bytes), 0);
  EXPECT_EQ(Unclamped(s.peak_bytes), std::nullopt);
  EXPECT_EQ(Unclamped(s.end_bytes), std::nullopt);
  EXPECT_FALSE(s.has_holes());
  // Neither is the peak without a part of it.
  EXPECT_EQ(Unclamped(replay.PeakWithout({.of_stack = {}, .without_stack = 0, .count = 1})[0]),
            std::nullopt);
}

TEST(BeyondTheRange, ReservedBytesToo) {
  const auto segment = [](Action action, std::int64_t bytes) {
    return Event{.key = 1, .size = bytes, .stack = StackId(), .action = action};
  };
  const Recording recording =
      Made({segment(Action::kSegmentAlloc, kMost), segment(Action::kSegmentAlloc, 5),
            segment(Action::kSegmentFree, kMost)});
  const TraceSummary s = Replay(recording, recording.history->traces[0]).Summarize();
  EXPECT_EQ(Unclamped(s.reserved_peak_bytes), std::nullopt);
  EXPECT_EQ(Unclamped(s.reserved_end_bytes), std::nullopt);
}

// Freed segments of before the recording: there were as many.
TEST(ReservedBytes, AreNeverLessThanNothing) {
  const Recording recording =
      Made({{.key = 1, .size = 100, .stack = StackId(), .action = Action::kSegmentFree}});
  const TraceSummary s = Replay(recording, recording.history->traces[0]).Summarize();
  EXPECT_EQ(s.reserved_base_bytes, 100);
  EXPECT_EQ(s.reserved_end_bytes, 0);
}

TEST(Holes, AreDamageThatEveryAnswerSays) {
  History history = test::BuildHistory({Alloc(0, 512), Alloc(4096, 300)});
  const auto recording = std::make_shared<const Recording>(test::MakeRecording(
      std::move(history),
      test::InOneSegment({{.address = 0, .size = 512, .requested = 512, .stack = StackId()}},
                         512)));
  std::vector<Diagnostic> diagnostics;
  const HistoryIndex index(recording);
  AddDiagnostics(*recording, &index, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "does_not_reconcile");
  EXPECT_EQ(diagnostics[0].severity, Severity::kDamage);
  auto selection = Select(recording, {});
  ASSERT_TRUE(selection);
  EXPECT_EQ(Top(*std::move(selection)).head.diagnostics.size(), 1U);
}

// Earlier allocations that the first events list belong to the start.
TEST(Replay, TheStartIsAfterWhatIsListedOfBefore) {
  History history = test::BuildHistory({{.key = 1, .size = 100, .action = Action::kAlloc},
                                        {.key = 2, .size = 30, .action = Action::kAlloc},
                                        {.key = 3, .size = 5, .action = Action::kAlloc},
                                        {.key = 1, .size = 100, .action = Action::kFreeCompleted}});
  history.traces[0].listed_before = 2;
  const HistoryIndex index(test::MakeRecording(history));
  const Trace& trace = index.history().traces[0];
  const TraceSummary s = Replay(index.recording(), trace).Summarize();
  EXPECT_EQ(s.base_bytes, 0);
  EXPECT_EQ(s.start_bytes, 130);
  EXPECT_EQ(s.peak_bytes, 135);
  EXPECT_EQ(s.end_bytes, 35);
  EXPECT_EQ(ResolveMoment(index, trace, *ParseMoment("start")).value(), 1);
  for (const auto change : {&Trace::preexisting_bytes, &Trace::preexisting_reserved}) {
    RecordingBuilder wrong;
    history.traces[0].*change = -1;
    wrong.SetHistory(history);
    EXPECT_FALSE(std::move(wrong).Finish());
    history.traces[0].*change = 0;
  }
  history.traces[0].listed_before = 5;
  RecordingBuilder wrong;
  wrong.SetHistory(history);
  EXPECT_FALSE(std::move(wrong).Finish());
}

}  // namespace
}  // namespace memtool
