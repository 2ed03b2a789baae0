// One replay for all questions, and the same answers as from a fresh replay.
#include "memtool/profile/replay/history_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "memtool/profile/replay/replay.h"
#include "support/make_history.h"

namespace memtool {
namespace {

// The events of `seed` on device 0, those of the next seed on device 1.
Recording TwoDevices(std::uint32_t seed) {
  const Recording first = test::RandomHistory(seed);
  History history = *first.history;
  const auto other = test::RandomHistory(seed + 1);
  test::AddTrace(history, {other.history->events.begin(), other.history->events.end()});
  return test::MakeRecording(std::move(history), *first.state, RecordingBuilder(first));
}

void ExpectEqual(const TraceSummary& a, const TraceSummary& b) {
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.base_bytes, b.base_bytes);
  EXPECT_EQ(a.start_bytes, b.start_bytes);
  EXPECT_EQ(a.preexisting_bytes, b.preexisting_bytes);
  EXPECT_EQ(a.peak_bytes, b.peak_bytes);
  EXPECT_EQ(a.peak_event, b.peak_event);
  EXPECT_EQ(a.end_bytes, b.end_bytes);
  EXPECT_EQ(a.live_block_bytes, b.live_block_bytes);
  EXPECT_EQ(a.pending_free_bytes, b.pending_free_bytes);
  EXPECT_EQ(a.reserved_base_bytes, b.reserved_base_bytes);
  EXPECT_EQ(a.reserved_peak_bytes, b.reserved_peak_bytes);
  EXPECT_EQ(a.reserved_peak_event, b.reserved_peak_event);
  EXPECT_EQ(a.reserved_end_bytes, b.reserved_end_bytes);
  EXPECT_EQ(a.unmatched_frees, b.unmatched_frees);
  EXPECT_EQ(a.unmatched_bytes, b.unmatched_bytes);
  EXPECT_EQ(a.unopened, b.unopened);
  EXPECT_EQ(a.unopened_bytes, b.unopened_bytes);
  EXPECT_EQ(a.double_allocs, b.double_allocs);
  EXPECT_EQ(a.size_changes, b.size_changes);
  EXPECT_EQ(a.segment_events, b.segment_events);
  EXPECT_EQ(a.ooms, b.ooms);
}

TEST(HistoryIndex, ReplaysATraceOnce) {
  const HistoryIndex index(TwoDevices(1));
  const auto& traces = index.history().traces;
  for (std::size_t row = 0; row < traces.size(); ++row) {
    const Replay* replay = &index.replay(row);
    EXPECT_EQ(&index.replay(row), replay);
    EXPECT_EQ(&index.replay(traces[row]), replay);
    const TraceSummary* summary = &index.summary(row);
    EXPECT_EQ(&index.summary(row), summary);
    EXPECT_EQ(&index.summary(traces[row]), summary);
    EXPECT_EQ(&index.replay(row), replay) << "a summary replays nothing again";
  }
  EXPECT_NE(&index.replay(0), &index.replay(1));
  EXPECT_NE(&index.summary(0), &index.summary(1));
}

TEST(HistoryIndex, TellsWhatAFreshReplayTells) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const HistoryIndex index(TwoDevices(seed));
    // The second device first: traces do not depend on the order in which they are asked for.
    for (const std::size_t row : {1U, 0U}) {
      SCOPED_TRACE(row);
      const Replay fresh(index.recording(), index.history().traces[row]);
      ExpectEqual(index.summary(row), fresh.Summarize());
      const auto partners = index.replay(row).partners();
      const auto wanted = fresh.partners();
      EXPECT_EQ(std::vector(partners.begin(), partners.end()),
                std::vector(wanted.begin(), wanted.end()));
    }
    EXPECT_NE(index.summary(0).peak_bytes, index.summary(1).peak_bytes);
  }
}

TEST(HistoryIndex, SharesTheRecording) {
  auto recording = std::make_shared<const Recording>(test::RandomHistory(1));
  const Recording* address = recording.get();
  HistoryIndex index(recording);
  EXPECT_EQ(&index.recording(), address);
  EXPECT_EQ(index.shared(), recording);
  EXPECT_EQ(&index.history(), address->history.get());

  const std::weak_ptr<const Recording> watched = std::exchange(recording, nullptr);
  EXPECT_FALSE(watched.expired()) << "it owns the recording together with others";
  index = HistoryIndex(test::RandomHistory(2));
  EXPECT_TRUE(watched.expired());
}

TEST(HistoryIndex, KeepsItsReplaysWhenItMoves) {
  HistoryIndex index(test::RandomHistory(3));
  const Replay* replay = &index.replay(0);
  const auto live = replay->LiveAt(100).size();
  const HistoryIndex moved = std::move(index);
  EXPECT_EQ(&moved.replay(0), replay);
  EXPECT_EQ(moved.replay(0).LiveAt(100).size(), live);
  ExpectEqual(moved.summary(0), Replay(moved.recording(), moved.history().traces[0]).Summarize());
}

// Every third event leaves two bytes; the two after it are a byte that lives between them.
Recording Steady(std::uint64_t turns) {
  std::vector<Event> events;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    events.push_back({.key = 2 * turn, .size = 2, .stack = {}, .action = Action::kAlloc});
    events.push_back({.key = 1, .size = 1, .stack = {}, .action = Action::kAlloc});
    events.push_back({.key = 1, .size = 1, .stack = {}, .action = Action::kFreeCompleted});
  }
  return test::MakeRecording(test::BuildHistory(std::move(events)));
}

TEST(HistoryIndex, AnswersSeveralThreads) {
  constexpr std::int64_t kTurns = 1000;
  const auto recording = std::make_shared<const Recording>(Steady(kTurns));
  const Trace& trace = recording->history->traces[0];
  for (int round = 0; round < 20; ++round) {
    const HistoryIndex index(recording);
    std::atomic<int> wrong = 0;
    std::latch begin(4);
    const auto ask = [&](std::int64_t first) {
      begin.arrive_and_wait();
      for (std::int64_t at = first; at < 3 * kTurns; at += 13) {
        const std::int64_t expected = 2 * (at / 3 + 1) + (at % 3 == 1 ? 1 : 0);
        const auto live = index.LiveAt(trace, at);
        const std::int64_t sum = std::accumulate(
            live->begin(), live->end(), std::int64_t{0},
            [](std::int64_t before, const LiveBlock& block) { return before + block.size; });
        wrong += sum == expected && index.TotalsAfter(0, at).live == expected ? 0 : 1;
      }
      wrong += index.summary(0).peak_bytes == 2 * kTurns + 1 ? 0 : 1;
    };
    std::vector<std::thread> threads;
    for (const std::int64_t first : {0, 500, 1000, 1500}) {
      threads.emplace_back(ask, first);
    }
    std::for_each(threads.begin(), threads.end(), [](std::thread& thread) { thread.join(); });
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace memtool
