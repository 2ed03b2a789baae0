// PyTorch's profiler: traces with memory events, and memory timelines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "memtool/profile/replay/replay.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Recording> LoadTrace(std::string_view text, const OpenOptions& options = {}) {
  return test::LoadBytes(test::ToBytes(text), options);
}

Recording LoadFile(std::string_view name) {
  auto recording = test::LoadBytes(test::ReadFile(test::TestFolder("") / name), {});
  EXPECT_TRUE(recording) << ToString(recording.error());
  return *std::move(recording);
}

std::vector<std::string> Frames(const Recording& recording, StackId stack) {
  std::vector<std::string> names;
  for (const LocationId location : recording.Stack(stack)) {
    const Line& line = recording.Lines(recording.At(location)).front();
    names.emplace_back(recording.Text(recording.functions[line.function.value()].name));
  }
  return names;
}

std::string Memory(double time, std::uint64_t address, std::int64_t bytes, std::int64_t total) {
  return fmt::format(
      R"({{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":5,"ts":{:.3f},)"
      R"("args":{{"Total Reserved":{},"Total Allocated":{},"Bytes":{},"Addr":{},"Device Id":0,"Device Type":1}}}})",
      time, total + 1000, total, bytes, address);
}

std::string Trace(const std::vector<std::string>& events) {
  return fmt::format(R"({{"schemaVersion":1,"traceEvents":[{}]}})", fmt::join(events, ","));
}

// The allocator's own totals are the oracle: at every event the replay holds what they say,
// whenever the trace began and in whatever order the file has its events.
TEST(Kineto, LiveBytesAreTheAllocatorsTotals) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::map<std::uint64_t, std::int64_t> live;
    std::int64_t total = 0;
    std::vector<std::string> events;
    std::vector<std::int64_t> totals;
    std::int64_t before = 0;  // the first event that is not skipped
    const int skipped = static_cast<int>(random() % 40);
    for (int i = 0; i < 120; ++i) {
      std::int64_t bytes = 0;
      std::uint64_t address = 0;
      if (live.empty() || random() % 5 < 3) {
        address = 0x1000 * (1 + random() % 200);
        bytes = live.contains(address) ? 0 : static_cast<std::int64_t>(512 * (1 + random() % 9));
      }
      if (bytes > 0) {
        live[address] = bytes;
      } else if (!live.empty()) {
        const auto it =
            std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
        address = it->first;
        bytes = -it->second;
        live.erase(it);
      } else {
        continue;
      }
      total += bytes;
      if (i >= skipped) {
        before = events.empty() ? total - bytes : before;
        events.push_back(Memory(1000 + i, address, bytes, total));
        totals.push_back(total);
      }
    }
    std::shuffle(events.begin(), events.end(), random);
    const auto recording = LoadTrace(Trace(events));
    ASSERT_TRUE(recording) << ToString(recording.error());
    const memtool::Trace& trace = recording->history->traces.at(0);
    std::size_t next = 0;
    std::int64_t replayed = Replay(*recording, trace).Summarize().base_bytes;
    EXPECT_EQ(replayed, before) << "seed " << seed;
    std::int64_t reserved = trace.preexisting_reserved;
    for (const Event& event : GetEvents(*recording, trace)) {
      replayed += LiveChange(event);
      reserved += ReservedChange(event);
      const bool of_file = event.action == Action::kAlloc || event.action == Action::kFreeCompleted;
      if (of_file) {
        ASSERT_EQ(replayed, totals[next]) << "seed " << seed << " event " << next;
        ASSERT_EQ(reserved, totals[next] + 1000);
        ++next;
      }
    }
    EXPECT_EQ(next, totals.size());
  }
}

TEST(Kineto, SpansAroundAnEventAreItsStack) {
  const Recording recording = LoadFile("kineto/trace.json");
  const auto events = GetEvents(recording, recording.history->traces.at(0));
  std::map<std::uint64_t, std::vector<std::string>> stacks;
  for (const Event& event : events) {
    if (event.action == Action::kAlloc) {
      stacks[event.key] = Frames(recording, event.stack);
    }
  }
  EXPECT_THAT(stacks[0x7F0000000000], ElementsAre("aten::empty", "aten::linear", "forward",
                                                  "nn.Module: Linear_0", "step", "main"));
  EXPECT_THAT(stacks[0x7F0000020000],
              ElementsAre("aten::empty_strided", "ReluBackward0",
                          "autograd::engine::evaluate_function: ReluBackward0"));
  EXPECT_THAT(stacks[0x7F0000030000], ElementsAre("main"));
  EXPECT_EQ(recording.history->clock, Clock::kUnix);
  EXPECT_EQ(events[0].time, 1'700'000'000'001'350'250);
  ASSERT_EQ(recording.history->marks.size(), 1U);
  EXPECT_EQ(recording.history->marks[0].name, "ProfilerStep#3");
}

TEST(Kineto, WhatWasThereBeforeIsASum) {
  const Recording recording = LoadFile("kineto/trace.json");
  const memtool::Trace& trace = recording.history->traces.at(0);
  EXPECT_EQ(trace.preexisting_bytes, 700'000);
  EXPECT_EQ(trace.preexisting_reserved, 4 << 20);
  const TraceSummary summary = Replay(recording, trace).Summarize();
  EXPECT_EQ(summary.start_bytes, 1'000'000);
  EXPECT_EQ(summary.reserved_base_bytes, 4 << 20);
  EXPECT_EQ(summary.reserved_end_bytes, 4 << 20);
}

// As PyTorch 1.8 to 1.10 writes them: instants without a category, operators called so.
TEST(Kineto, MemoryEventsWithoutAddressesAreSums) {
  const auto memory = [](int time, int bytes) {
    return fmt::format(R"({{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":5,"ts":{},)"
                       R"("args":{{"Device Type":1,"Device Id":0,"Bytes":{}}}}})",
                       time, bytes);
  };
  const auto read = LoadTrace(
      Trace({R"({"ph":"X","cat":"Operator","name":"aten::empty","pid":1,"tid":5,"ts":100,"dur":5})",
             memory(101, 4096), memory(110, 8192), memory(120, -4096), memory(130, -10000)}));
  ASSERT_TRUE(read) << ToString(read.error());
  const TraceSummary summary = Replay(*read, read->history->traces[0]).Summarize();
  EXPECT_EQ(summary.base_bytes, 1808);  // what is freed was there before
  EXPECT_EQ(summary.peak_bytes, 14096);
  EXPECT_EQ(summary.end_bytes, 0);
  const auto named = [](const Diagnostic& one) {
    return one.code == "no_address" && one.count == 4;
  };
  EXPECT_TRUE(std::any_of(read->diagnostics.begin(), read->diagnostics.end(), named));
}

TEST(Kineto, FailuresAreEventsOfTheirDevice) {
  const Recording recording = LoadFile("kineto/trace.json");
  const memtool::Trace& trace = recording.history->traces.at(0);
  const TraceSummary summary = Replay(recording, trace).Summarize();
  ASSERT_EQ(summary.ooms.size(), 1U);
  const Event& event = GetEvents(recording, trace)[summary.ooms[0]];
  EXPECT_EQ(event.size, std::int64_t{1} << 40U);
  EXPECT_EQ(event.key, kUnknownBytes);
  EXPECT_EQ(event.time, 1'700'000'000'008'000'000);
  EXPECT_THAT(Frames(recording, event.stack), ElementsAre("step", "main"));
  // One that does not tell the requested size is a mark.
  const auto unknown = LoadTrace(Trace(
      {Memory(1, 4096, 512, 512), R"({"ph":"i","cat":"cpu_instant_event","name":"[OutOfMemory]",)"
                                  R"("ts":2,"args":{"Device Id":0,"Device Type":1}})"}));
  ASSERT_TRUE(unknown) << ToString(unknown.error());
  EXPECT_EQ(unknown->history->events.size(), 1U);
  ASSERT_EQ(unknown->history->marks.size(), 1U);
  EXPECT_EQ(unknown->history->marks[0].name, "OutOfMemory");
}

TEST(Kineto, EventsThatCannotBeUsed) {
  const std::string good = Memory(1, 4096, 512, 512);
  const auto recording = LoadTrace(
      Trace({good, R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":2,"args":{}})",
             R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","args":{"Bytes":7}})",
             R"({"ph":"X","cat":"cpu_op","name":"x","ts":1e300,"dur":1})",
             R"({"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":-1})", "[]", "7", "\"text\"",
             R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":3,)"
             R"("args":{"Bytes":5,"Device Type":1,"Device Id":0,"more":{"Bytes":9}}})"}));
  ASSERT_TRUE(recording) << ToString(recording.error());
  std::map<std::string, std::uint64_t> counts;
  for (const Diagnostic& diagnostic : recording->diagnostics) {
    counts[diagnostic.code] = diagnostic.count;
  }
  EXPECT_EQ(counts["bad_event"], 4U);
  EXPECT_EQ(counts["no_address"], 1U);
  EXPECT_EQ(Replay(*recording, recording->history->traces[0]).Summarize().end_bytes, 517);
}

TEST(Kineto, ATraceWithoutMemoryEventsSaysHowToRecordThem) {
  const auto recording =
      LoadTrace(Trace({R"({"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":1})"}));
  ASSERT_FALSE(recording);
  EXPECT_THAT(ToString(recording.error()), HasSubstr("profile_memory=True"));
}

// An event more deeply inside than another: cut stacks begin with the same frame.
TEST(Kineto, DeepStacksShareTheirOutermostFrame) {
  constexpr int kDepth = 3000;
  std::vector<std::string> nested;
  for (int i = 0; i < kDepth; ++i) {
    nested.push_back(
        fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"f{}","tid":5,"ts":{},"dur":{}}})", i, i,
                    100000 - 2 * i));
    nested.push_back(Memory(i + 0.5, i + 1, 2, 2));
  }
  const auto deep = LoadTrace(Trace(nested));
  ASSERT_TRUE(deep) << ToString(deep.error());
  const std::uint64_t limit = OpenOptions{}.limits.depth;
  std::set<std::uint32_t> outermost;
  for (const Event& event : deep->history->events) {
    const auto stack = deep->Stack(event.stack);
    ASSERT_FALSE(stack.empty());
    EXPECT_LE(stack.size(), limit);
    outermost.insert(stack.back().value());
  }
  EXPECT_EQ(outermost.size(), 1 + (kDepth - limit + limit / 2 - 1) / (limit / 2));
}

TEST(Kineto, HostileTraces) {
  std::vector<std::string> nested{Memory(900000, 1, 2, 2)};
  for (int i = 0; i < 50000; ++i) {
    nested.push_back(fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"f","tid":5,"ts":{},"dur":{}}})", i, 1800000 - 2 * i));
  }
  const auto deep = LoadTrace(Trace(nested));
  ASSERT_TRUE(deep) << ToString(deep.error());
  // 50,000 frames: multiples of half the limit are left out.
  const std::uint64_t limit = OpenOptions{}.limits.depth;
  EXPECT_EQ(deep->Stack(StackId(0U)).size(),
            50000 - (50000 - limit + limit / 2 - 1) / (limit / 2) * (limit / 2));
  EXPECT_FALSE(LoadTrace(R"({"schemaVersion":1,"traceEvents":)" + std::string(100000, '[')));
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += fmt::format(R"({}{{"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":1,)"
                        R"("args":{{"Bytes":1,"Addr":1,"Device Type":1,"Device Id":{}}}}})",
                        i == 0 ? "" : ",", i);
  }
  const auto devices = LoadTrace("[" + many + "]");
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code, ErrorCode::kLimit);
}

// Bytes by category after the last event of each µs.
std::map<std::int64_t, std::map<std::string, std::int64_t>> Sums(const Recording& recording) {
  std::map<std::int64_t, std::map<std::string, std::int64_t>> sums;
  std::map<std::string, std::int64_t> now;
  for (const Event& event : GetEvents(recording, recording.history->traces.at(0))) {
    std::int64_t& sum = now[Frames(recording, event.stack).at(0)];
    sum += LiveChange(event);
    if (sum == 0) {
      now.erase(Frames(recording, event.stack).at(0));
    }
    sums[event.time / 1000] = now;
  }
  return sums;
}

// The coalesced file was summed up by the script that wrote both.
TEST(TorchTimeline, BothFormsHoldTheSameSums) {
  const auto raw = Sums(LoadFile("torch_timeline/raw.json"));
  const auto coalesced = Sums(LoadFile("torch_timeline/coalesced.json"));
  EXPECT_GT(raw.size(), 40U);
  // A µs without a change is in the raw form only.
  for (const auto& [time, sums] : raw) {
    const auto at = std::prev(coalesced.upper_bound(time));
    EXPECT_EQ(sums, at->second) << time;
  }
}

// Parameters of 4 to 20 KiB, by the generator.
TEST(TorchTimeline, TheStartIsAfterWhatIsListedOfBefore) {
  for (const char* name : {"torch_timeline/raw.json", "torch_timeline/coalesced.json"}) {
    const Recording recording = LoadFile(name);
    const memtool::Trace& trace = recording.history->traces.at(0);
    EXPECT_EQ(Replay(recording, trace).Summarize().start_bytes, 61'440) << name;
    EXPECT_EQ(GetEvents(recording, trace)[trace.listed_before].size, 1 << 20) << name;
  }
  for (const char* text : {"[[5, 2, 100, 0], [-1, 1, 30, 1]]",
                           "[[5, 6], [[0,7,0,0,0,0,0,0,0],[0,7,8,0,0,0,0,0,0]]]"}) {
    const auto recording = LoadTrace(text);
    ASSERT_TRUE(recording) << ToString(recording.error());
    EXPECT_EQ(recording->history->traces[0].listed_before, 0U) << text;
  }
}

// 200 MiB are made, 30 MiB are made and get another version; the rest was there.
TEST(TorchTimeline, OnlyCreationsTakeMemory) {
  auto read = LoadTrace(
      "[[-1,1,100,0],[1000,2,200,4],[2000,2,30,7],[3000,3,-30,7],[3000,3,30,4],[5000,4,-200,4],"
      "[6000,4,-30,4]]");
  ASSERT_TRUE(read);
  const Replay replay(*read, read->history->traces[0]);
  std::vector<std::uint32_t> own;
  for (std::uint32_t i = 0; i < read->history->events.size(); ++i) {
    if (replay.TakesMemory(i)) {
      own.push_back(i);
    }
  }
  EXPECT_THAT(own, ElementsAre(1U, 2U));
  EXPECT_EQ(replay.EndOf(1), 5U);
  EXPECT_EQ(replay.EndOf(2), 6U);  // not the end of its first version
}

TEST(TorchTimeline, AFreeWithoutAnAllocationWasThereBefore) {
  const auto recording = LoadTrace("[[5, 4, -100, 0], [6, 2, 30, 1], [7, 4, -30, 1]]");
  ASSERT_TRUE(recording) << ToString(recording.error());
  const TraceSummary summary = Replay(*recording, recording->history->traces[0]).Summarize();
  EXPECT_EQ(summary.base_bytes, 100);
  EXPECT_EQ(summary.end_bytes, 0);
}

TEST(TorchTimeline, OneEventAndOtherLists) {
  EXPECT_TRUE(LoadTrace("[[-1, 1, 4096, 0]]"));
  EXPECT_TRUE(LoadTrace("[[5], [[0,1,2,3,4,5,6,7,8]]]"));
  for (const std::string_view text :
       {"[[5, 2, 7, 8]]", "[[5, 9, 7, 1]]", "[[5, 2, 7, 1], [5, 2]]", "[[5, 2, 7, 1], 5]",
        "[[5, 6], [[0,1,2,3,4,5,6,7,8]]]", "[[5], [[0,1,2,3,4,5,6,7]]]",
        "[[5], [[0,1,2,3,4,5,6,7,8],[0,1,2,3,4,5,6,7,8]]]", "[[5], [[[0]]]]", "[[1, 2, 3.5, 4]]",
        "[[1,2,3,99999999999999999999]]", "[[1,2,-9223372036854775808,3]]", "[[1,2,3,4],{}]",
        "[[1,2,3,4]", "[[]]", "[[1,2,3,4,5]]"}) {
    const auto recording = LoadTrace(text);
    EXPECT_FALSE(recording) << text;
  }
}

}  // namespace
}  // namespace memtool::formats
