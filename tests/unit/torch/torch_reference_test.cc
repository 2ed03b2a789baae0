// Real snapshots against exact answers: the replay of base, peak and end. They are not part of the
// project; MEMTOOL_REFERENCE_DATA names the folder that holds torch/*.pickle and torch/ORACLE.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <unordered_map>

#include "memtool/profile/account/oom.h"
#include "memtool/profile/replay/history_index.h"
#include "snapshot_text.h"
#include "support/files.h"

namespace memtool::tests {
namespace {

struct Replay {
  const Recording& recording;
  const Trace& trace;
  std::unordered_map<std::uint64_t, std::int64_t> live{};
  std::int64_t unmatched = 0, unmatched_bytes = 0, unopened = 0, unopened_bytes = 0;
  std::int64_t end_blocks = 0, pending = 0, reserved_end = 0;

  [[nodiscard]] std::span<const Event> events() const {
    return std::span(recording.history->events).subspan(trace.first_event, trace.event_count);
  }
  void Match() {
    for (const Event& event : events()) {
      if (event.action == Action::kAlloc) {
        live[event.key] = event.size;
      } else if (event.action == Action::kFreeCompleted && live.erase(event.key) == 0) {
        ++unmatched;
        unmatched_bytes += event.size;
      }
    }
  }
  void AddSegment(const Segment& segment) {
    reserved_end += segment.size;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = recording.state->blocks[segment.first_block + i];
      if (block.state == BlockState::kInactive) {
        continue;
      }
      (block.state == BlockState::kActive ? end_blocks : pending) += block.requested;
      if (!live.contains(block.address)) {
        ++unopened;
        unopened_bytes += block.requested;
      }
    }
  }
  static std::int64_t Delta(const Event& event, bool reserved) {
    if (reserved) {
      const bool more =
          event.action == Action::kSegmentAlloc || event.action == Action::kSegmentMap;
      const bool less =
          event.action == Action::kSegmentFree || event.action == Action::kSegmentUnmap;
      return more ? event.size : less ? -event.size : 0;
    }
    return event.action == Action::kAlloc           ? event.size
           : event.action == Action::kFreeCompleted ? -event.size
                                                    : 0;
  }
  struct Peak {
    std::int64_t bytes, at, end;
  };
  [[nodiscard]] Peak FindPeak(std::int64_t base, bool reserved) const {
    Peak peak{base, -1, base};
    for (std::size_t i = 0; i < events().size(); ++i) {
      peak.end += Delta(events()[i], reserved);
      if (peak.end > peak.bytes) {
        peak.bytes = peak.end;
        peak.at = static_cast<std::int64_t>(i);
      }
    }
    return peak;
  }
};

std::string OracleLine(const std::string& name, const Recording& recording, const Trace& trace) {
  Replay replay{recording, trace};
  replay.Match();
  for (const Segment& segment : recording.state->segments) {
    if (segment.device == trace.device && !segment.host) {
      replay.AddSegment(segment);
    }
  }
  const std::int64_t base = replay.unmatched_bytes + replay.unopened_bytes;
  const auto peak = replay.FindPeak(base, false);
  const std::int64_t net = replay.FindPeak(0, true).end;
  const auto reserved = replay.FindPeak(replay.reserved_end - net, true);
  return fmt::format(
      "{} dev{} events={} base={} peak={}@{} end_replay={} end_blocks={} pending_free={} {} "
      "unmatched_frees={}({}) ghosts={}({}) reserved_base={} reserved_peak={}@{} reserved_end={}",
      name, trace.device, trace.event_count, base, peak.bytes, peak.at, peak.end, replay.end_blocks,
      replay.pending, peak.end == replay.end_blocks + replay.pending ? "OK" : "DIFF",
      replay.unmatched, replay.unmatched_bytes, replay.unopened, replay.unopened_bytes,
      replay.reserved_end - net, reserved.bytes, reserved.at, replay.reserved_end);
}

TEST(TorchReference, RealFilesReplayToTheOracle) {
  const auto folder = test::ReferenceFolder("torch");
  if (!folder) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  std::ifstream oracle(*folder / "ORACLE.txt");
  std::set<std::string> expected;
  std::set<std::string> files;
  for (std::string line; std::getline(oracle, line);) {
    expected.insert(line);
    files.insert(line.substr(0, line.find(' ')));
  }
  ASSERT_FALSE(files.empty());
  std::set<std::string> found;
  for (const std::string& file : files) {
    const auto recording = formats::OpenRecording((*folder / file).string());
    ASSERT_TRUE(recording) << ToString(recording.error());
    for (const Trace& trace : recording->history->traces) {
      found.insert(OracleLine(file, *recording, trace));
    }
  }
  EXPECT_EQ(found, expected);
}

// A snapshot that was taken after a failure, without the failure in it.
TEST(TorchReference, WhatIsKnownWithoutAnOom) {
  const auto folder = test::ReferenceFolder("torch");
  if (!folder) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  const auto recording = formats::OpenRecording((*folder / "yiyi_oom.pickle").string());
  ASSERT_TRUE(recording) << ToString(recording.error());
  const HistoryIndex index(*recording);
  const Trace& trace = index.history().traces.front();
  OomState state;
  const std::int64_t last = static_cast<std::int64_t>(trace.event_count) - 1;
  const StateAtMoment at = StateAt(index, trace, last);
  AddState(at, UseOfEach(at, *recording, trace, last), {}, state);
  EXPECT_NEAR(static_cast<double>(state.reserved) / (1U << 30U), 11.031, 0.0005);
  EXPECT_NEAR(static_cast<double>(state.free) / (1U << 20U), 4.3, 0.05);
  EXPECT_EQ(state.live + state.pending + state.free, state.reserved);
  EXPECT_LE(state.largest_free, state.free);
}

}  // namespace
}  // namespace memtool::tests
