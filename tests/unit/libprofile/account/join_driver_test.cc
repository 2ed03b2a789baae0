// Random logs of a driver and random segments laid into them, against plain sums.
#include "memtool/profile/account/join_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/replay.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

struct Allocation {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::int64_t begin = 0;
  std::int64_t end = kNoTime;
  bool handle = false;  // physical memory, mapped in two pieces

  [[nodiscard]] bool LiveAt(std::int64_t time) const {
    return begin <= time && (end == kNoTime || end > time);
  }
};

// Allocations of random sizes, one each second; some are freed later, addresses are used again.
std::vector<Allocation> RandomAllocations(std::mt19937& random, std::uint64_t base) {
  std::vector<Allocation> all;
  std::map<std::uint64_t, std::size_t> free_from;  // by address: its latest allocation
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int64_t now = kStart + i * kSecond;
    const auto slot = random() % 20;
    const std::uint64_t address = base + slot * 0x1000000;
    const auto known = free_from.find(address);
    if (known != free_from.end() && all[known->second].end == kNoTime) {
      all[known->second].end = now;
      continue;
    }
    free_from[address] = all.size();
    all.push_back({.address = address,
                   .size = static_cast<std::int64_t>(2 + 2 * (random() % 4000)),
                   .begin = now,
                   .handle = random() % 4 == 0});
  }
  return all;
}

HistoryIndex MakeLog(const std::vector<Allocation>& all, Clock clock = Clock::kUnix) {
  struct Row {
    std::int64_t time;
    std::size_t allocation;
    bool begins;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    rows.push_back({all[i].begin, i, true});
    if (all[i].end != kNoTime) {
      rows.push_back({all[i].end, i, false});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
  History history;
  history.clock = clock;
  history.domains = {
      {.name = "device", .device = 0, .level = DomainLevel::kDriver},
      {.name = "vmm", .device = 0, .kind = DomainKind::kVmm, .level = DomainLevel::kDriver}};
  std::vector<Event> events;
  for (const Row& row : rows) {
    const Allocation& each = all[row.allocation];
    if (row.begins && each.handle) {
      const std::int64_t half = each.size / 2;
      const std::uint64_t event = events.size();
      history.mapped.push_back({event, each.address, half, each.begin, each.end});
      history.mapped.push_back(
          {event, each.address + static_cast<std::uint64_t>(half), half, each.begin, each.end});
    }
    events.push_back({.key = each.handle ? row.allocation + 1 : each.address,
                      .size = each.size,
                      .time = row.time,
                      .stack = {},
                      .domain = static_cast<std::uint8_t>(each.handle ? 1 : 0),
                      .action = row.begins ? Action::kAlloc : Action::kFreeCompleted});
  }
  test::AddTrace(history, events, DomainId(0U), DomainId(0U));
  return HistoryIndex(test::MakeRecording(std::move(history)));
}

// Its last event was at `time`.
HistoryIndex MakeSnapshot(const std::vector<Segment>& segments, std::int64_t time,
                          Clock clock = Clock::kUnix) {
  History history = test::BuildHistory({{.time = time, .stack = {}, .action = Action::kOther}});
  history.clock = clock;
  return HistoryIndex(
      test::MakeRecording(std::move(history), AllocatorState{.segments = segments, .blocks = {}}));
}

Segment SegmentAt(std::uint64_t address, std::int64_t size) {
  return {.address = address, .size = size, .device = 0, .stack = {}};
}

std::int64_t LiveBytes(const HistoryIndex& log, const MomentSpec& moment) {
  std::int64_t live = 0;
  for (const Trace& trace : log.history().traces) {
    for (const LiveBlock& block : log.replay(trace).LiveAt(*ResolveMoment(log, trace, moment))) {
      live += block.size;
    }
  }
  return live;
}

// None where no snapshot fits.
std::optional<DriverJoin> JoinWith(FrameworkSegments& framework, const HistoryIndex& log) {
  auto join = framework.Join(log);
  EXPECT_TRUE(join) << ToString(join.error());
  return join ? *std::move(join) : std::nullopt;
}

TEST(JoinDriver, SegmentsLeaveTheLogAndNothingElseDoes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto all = RandomAllocations(random, 0x7000000000);
    const std::int64_t time = kStart + static_cast<std::int64_t>(random() % 60) * kSecond;
    std::vector<Segment> segments;
    std::int64_t inside = 0;
    std::int64_t holding = 0;
    std::int64_t whole = 0;
    for (const Allocation& each : all) {
      if (each.LiveAt(time) && random() % 2 == 0) {
        const std::int64_t size = random() % 4 != 0 ? each.size : each.size / 2;
        whole += size == each.size || each.handle ? size : 0;
        segments.push_back(SegmentAt(each.address, size));
        inside += size;
        holding += each.size;
      }
    }
    segments.push_back(SegmentAt(0x100, 77));  // in no allocation
    const HistoryIndex log = MakeLog(all);
    FrameworkSegments framework;
    ASSERT_TRUE(framework.Add("s", MakeSnapshot(segments, time), {}, ""));
    const auto join = JoinWith(framework, log);
    if (inside == 0 || whole < inside / 2) {
      EXPECT_FALSE(join);
      continue;
    }
    ASSERT_TRUE(join) << "seed " << seed;
    EXPECT_EQ(join->found, inside);
    EXPECT_EQ(join->missing, 77);
    EXPECT_EQ(join->missing_segments, 1U);
    EXPECT_EQ(join->segments, segments.size());
    EXPECT_EQ(join->holding, holding);
    const HistoryIndex rest(join->rest);
    EXPECT_EQ(LiveBytes(rest, join->moment), LiveBytes(log, join->moment) - inside)
        << "seed " << seed;
    // A later free releases what is left: a log that ended empty still does.
    EXPECT_EQ(rest.summary(0).size_changes, 0U);
  }
}

// Two processes have the same addresses; each log takes its own snapshot.
TEST(JoinDriver, EachLogHasItsOwnSnapshot) {
  const HistoryIndex first = MakeLog({{.address = 0x1000, .size = 100, .begin = kStart}});
  const HistoryIndex second = MakeLog({{.address = 0x1000, .size = 100, .begin = kStart},
                                       {.address = 0x2000, .size = 400, .begin = kStart + 1}});
  FrameworkSegments framework;
  const auto time = kStart + kSecond;
  ASSERT_TRUE(framework.Add(
      "of second", MakeSnapshot({SegmentAt(0x1000, 100), SegmentAt(0x2000, 400)}, time), {}, ""));
  ASSERT_TRUE(framework.Add("of first", MakeSnapshot({SegmentAt(0x1000, 100)}, time), {}, ""));
  const auto of_second = JoinWith(framework, second);
  ASSERT_TRUE(of_second);
  EXPECT_EQ(of_second->snapshot, "of second");
  const auto of_first = JoinWith(framework, first);
  ASSERT_TRUE(of_first);
  EXPECT_EQ(of_first->snapshot, "of first");
  EXPECT_FALSE(JoinWith(framework, first)) << "each snapshot once";
}

// Addresses of different processes are often the same; sizes are not.
TEST(JoinDriver, AnotherProcessDoesNotFit) {
  const HistoryIndex log = MakeLog({{.address = 0x1000, .size = 100, .begin = kStart}});
  FrameworkSegments framework;
  ASSERT_TRUE(framework.Add("s", MakeSnapshot({SegmentAt(0x1000, 20)}, kStart + 1), {}, ""));
  EXPECT_FALSE(JoinWith(framework, log));
  EXPECT_EQ(LiveBytes(log, {}), 100);
}

// Without times the log is taken at its end.
TEST(JoinDriver, ASnapshotWithoutTimes) {
  const HistoryIndex log =
      MakeLog({{.address = 0x1000, .size = 100, .begin = kStart, .end = kStart + 5},
               {.address = 0x1000, .size = 300, .begin = kStart + 9}});
  const HistoryIndex snapshot = MakeSnapshot({SegmentAt(0x1000, 300)}, kNoTime, Clock::kAbsent);
  FrameworkSegments framework;
  ASSERT_TRUE(framework.Add("s", snapshot, {}, ""));
  const auto join = JoinWith(framework, log);
  ASSERT_TRUE(join);
  EXPECT_EQ(join->moment.kind, MomentSpec::Kind::kEnd);
  EXPECT_EQ(join->found, 300);
  EXPECT_EQ(LiveBytes(HistoryIndex(join->rest), {}), 0);
}

// Of a log whose clock began with the machine: what was there at its end, or all at once at its
// peak.
TEST(JoinDriver, ALogWithAClockOfItsOwn) {
  for (const std::int64_t end : {std::int64_t{kNoTime}, kStart + 5}) {
    const HistoryIndex log =
        MakeLog({{.address = 0x1000, .size = 300, .begin = kStart, .end = end}}, Clock::kRelative);
    FrameworkSegments framework;
    ASSERT_TRUE(framework.Add("s", MakeSnapshot({SegmentAt(0x1000, 300)}, kStart + 1), {}, ""));
    const auto join = JoinWith(framework, log);
    ASSERT_TRUE(join);
    EXPECT_EQ(join->moment.kind, end == kNoTime ? MomentSpec::Kind::kEnd : MomentSpec::Kind::kPeak);
    EXPECT_EQ(LiveBytes(HistoryIndex(join->rest), join->moment), 0);
  }
}

TEST(JoinDriver, HostileAddresses) {
  const HistoryIndex log =
      MakeLog({{.address = UINT64_MAX - 10, .size = INT64_MAX, .begin = kStart},
               {.address = 0, .size = INT64_MAX, .begin = kStart + 1}});
  FrameworkSegments framework;
  ASSERT_TRUE(framework.Add("s",
                            MakeSnapshot({SegmentAt(UINT64_MAX - 5, 5), SegmentAt(0, INT64_MAX),
                                          SegmentAt(std::uint64_t{1} << 63U, INT64_MAX - 7)},
                                         kStart + kSecond),
                            {}, ""));
  const auto join = JoinWith(framework, log);
  ASSERT_TRUE(join);
  EXPECT_EQ(join->found, INT64_MAX);
}

}  // namespace
}  // namespace memtool
