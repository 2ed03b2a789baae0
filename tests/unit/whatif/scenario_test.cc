// Limits, other settings, and changed programs.
#include "memtool/profile/whatif/scenario.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "memtool/profile/whatif/limit.h"
#include "recordings.h"
#include "support/make_history.h"

namespace memtool::tests {
namespace {

using whatif::kMiB;
using whatif::Scenario;

whatif::AllocatorSettings Conf(const std::string& text) {
  return *whatif::ParseAllocatorConf(text);
}

whatif::Limit ComputeLimit(const HistoryIndex& index) {
  return whatif::ComputeLimit(index, index.history().traces.front(),
                              whatif::RecordedSettings(index.recording()), CollectRequests(index));
}

// The card's limit is not in the file; refusals and the failure tell it.
TEST(WhatIfLimit, IsInferredAndReproducesTheRefusals) {
  for (const Generated& one : AllGenerated()) {
    const auto index = OpenGenerated(one.name);
    const whatif::Limit limit = ComputeLimit(*index);
    if (one.retries == 0) {
      EXPECT_EQ(limit.from, whatif::Limit::From::kHighest) << one.name;
      EXPECT_FALSE(limit.high) << one.name;
      EXPECT_FALSE(limit.reproduced) << one.name;
      continue;
    }
    EXPECT_LE(limit.low, one.limit) << one.name;
    ASSERT_TRUE(limit.high) << one.name;
    if (one.failed >= 0) {
      EXPECT_EQ(limit.from, whatif::Limit::From::kFailure) << one.name;
      EXPECT_EQ(limit.low, one.limit) << one.name;
    } else {
      EXPECT_EQ(limit.from, whatif::Limit::From::kRefusals) << one.name;
      EXPECT_GT(*limit.high, one.limit) << one.name;
    }
    EXPECT_EQ(limit.reproduced, true) << one.name;
    EXPECT_EQ(limit.retries, static_cast<std::uint64_t>(one.retries)) << one.name;
  }
}

Scenario Under(const std::string& name, const std::string& conf, whatif::ScenarioQuery query = {}) {
  return whatif::MakeScenario(CollectRequests(*OpenGenerated(name)), Conf(conf), query);
}

// 72 MiB live and 150 wanted, 420 allowed: six segments of 60 MiB keep 12 each.
TEST(WhatIfScenario, FragmentationPassesWithExpandableSegments) {
  const whatif::ScenarioQuery query{.limit = 420 * kMiB, .fit = true};
  const Scenario as_is = Under("oom_fragmented", "", query);
  EXPECT_TRUE(as_is.fails());
  EXPECT_EQ(as_is.limited->failed_event, 48);
  EXPECT_EQ(as_is.limited->failed_size, 150 * kMiB);
  const Scenario expandable = Under("oom_fragmented", "expandable_segments:True", query);
  EXPECT_TRUE(expandable.passes());
  EXPECT_EQ(expandable.high.live_peak, 360 * kMiB);
  EXPECT_EQ(*as_is.fits, 510 * kMiB) << "360 reserved and 150 wanted";
  EXPECT_EQ(*expandable.fits, 360 * kMiB);
}

// 240 + 72 MiB live and 150 wanted, 420 allowed: no setting helps.
TEST(WhatIfScenario, AShortageDoesNotPass) {
  const whatif::ScenarioQuery query{.limit = 420 * kMiB, .fit = true};
  for (const char* conf : {"", "expandable_segments:True", "max_split_size_mb:32"}) {
    const Scenario scenario = Under("oom_real", conf, query);
    EXPECT_TRUE(scenario.fails()) << conf;
    EXPECT_GE(*scenario.fits, 462 * kMiB) << conf;
  }
}

TEST(WhatIfScenario, TheSmallestLimitIsTheSmallest) {
  const auto requests = CollectRequests(*OpenGenerated("pressure_split"));
  for (const char* conf : {"", "expandable_segments:True", "max_split_size_mb:64"}) {
    const auto fits = whatif::SmallestLimit(requests, Conf(conf), {});
    ASSERT_TRUE(fits) << conf;
    EXPECT_FALSE(whatif::RunOnce(requests, Conf(conf), {.limit = *fits}).failed) << conf;
    EXPECT_TRUE(whatif::RunOnce(requests, Conf(conf), {.limit = *fits - 2 * kMiB}).failed) << conf;
  }
}

// Two requests from before the recording lie in one segment; the layout of the past costs more.
TEST(WhatIfScenario, ABaseGivesAnInterval) {
  const auto cut = WithoutHead(*OpenGenerated("default"), 70);
  const auto requests = CollectRequests(*cut);
  ASSERT_TRUE(requests.has_base());
  const Scenario scenario = whatif::MakeScenario(requests, Conf("expandable_segments:True"), {});
  EXPECT_LE(scenario.low.reserved_peak, scenario.high.reserved_peak);
  EXPECT_GE(scenario.low.reserved_peak, scenario.low.live_peak);
  EXPECT_EQ(scenario.low.live_peak, scenario.high.live_peak);
}

// What is taken for another run is that run: all pairs of settings, under several limits.
TEST(WhatIfScenario, TheSameRunIsTheSame) {
  struct Run {
    whatif::AllocatorSettings settings;
    whatif::RunOptions options;
    whatif::RunResult result;
  };
  std::size_t same = 0;
  std::size_t by_bounds = 0;
  std::size_t others = 0;
  for (const Generated& one : AllGenerated()) {
    const auto whole = OpenGenerated(one.name);
    for (const auto& index : {whole, WithoutHead(*whole, 60)}) {
      const auto requests = CollectRequests(*index);
      const std::int64_t peak = whatif::RunOnce(requests, {}, {}).reserved_peak;
      std::vector<Run> runs;
      for (const char* conf :
           {"", "max_split_size_mb:512", "max_split_size_mb:64", "max_split_size_mb:24",
            "expandable_segments:True", "expandable_segments:True,max_split_size_mb:64",
            "per_process_memory_fraction:0.9",
            "garbage_collection_threshold:0.5,per_process_memory_fraction:1.0", "padded"}) {
        auto settings = std::string_view(conf) == "padded"
                            ? whatif::AllocatorSettings{.padding = 32}
                            : Conf(conf);
        for (const std::int64_t limit : {whatif::kNoLimit, peak * 2, peak, peak / 4 * 3}) {
          for (const auto base : {whatif::BaseLayout::kAnew, whatif::BaseLayout::kAsRecorded}) {
            Run run{settings, {.limit = limit, .total = {}, .base = base, .until = {}}, {}};
            run.result = whatif::RunOnce(requests, run.settings, run.options);
            runs.push_back(std::move(run));
          }
        }
      }
      for (const Run& done : runs) {
        for (const Run& run : runs) {
          if (!whatif::SameRun(requests, run.settings, run.options,
                               {done.settings, done.options, done.result})) {
            ++others;
            continue;
          }
          ++same;
          by_bounds += run.settings.max_split_size != done.settings.max_split_size ? 1 : 0;
          const auto all = [](const whatif::RunResult& result) {
            return std::tuple(result.reserved_peak, result.reserved_peak_event, result.live_at_peak,
                              result.live_peak, result.waste_peak, result.waste_event,
                              result.retry_events, result.failed, result.segments, result.releases);
          };
          ASSERT_EQ(all(run.result), all(done.result))
              << one.name << ": " << whatif::ConfText(run.settings) << " under "
              << run.options.limit << " is not " << whatif::ConfText(done.settings) << " under "
              << done.options.limit;
        }
      }
    }
  }
  EXPECT_GT(same, 1000U);
  EXPECT_GT(by_bounds, 100U);
  EXPECT_GT(others, 1000U);
}

// Another program's requests: sizes doubled, a row less, an empty_cache() more.
TEST(WhatIfScenario, ChangedPrograms) {
  const auto index = OpenGenerated("default");
  const Trace& trace = index->history().traces.front();
  const auto requests = CollectRequests(*index);
  const auto peak = [](const whatif::Requests& changed) {
    return whatif::RunOnce(changed, {}, {});
  };
  const auto as_is = peak(requests);
  EXPECT_EQ(peak(whatif::Scaled(requests, 2)).live_peak, 2 * as_is.live_peak);
  const auto none = peak(whatif::Without(*index, trace, requests, [](StackId) { return true; }));
  EXPECT_EQ(none.live_peak, 0);
  EXPECT_EQ(none.reserved_peak, 0);
  const auto same = peak(whatif::Without(*index, trace, requests, [](StackId) { return false; }));
  EXPECT_EQ(same.reserved_peak, as_is.reserved_peak);
  const auto more = peak(whatif::WithEmptyCache(requests, {as_is.reserved_peak_event - 1}));
  EXPECT_GT(more.releases, 0U);
  EXPECT_EQ(peak(whatif::WithoutEmptyCache(requests)).releases, 0U);
}

// The state after the last event of a run with the file's own settings is the file's, but for the
// addresses.
TEST(WhatIfScenario, TheStateAfterARun) {
  const auto index = OpenGenerated("expandable");
  const Trace& trace = index->history().traces.front();
  const auto requests = CollectRequests(*index);
  const auto settings = whatif::RecordedSettings(index->recording());
  const AllocatorState state = whatif::StateAfter(*index, trace, requests, settings, {});
  std::int64_t reserved = 0;
  std::int64_t requested = 0;
  for (const Segment& segment : state.segments) {
    reserved += segment.size;
    requested += segment.requested;
    std::int64_t blocks = 0;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      blocks += state.blocks[segment.first_block + i].size;
    }
    EXPECT_EQ(blocks, segment.size);
  }
  EXPECT_EQ(reserved, index->summary(trace).reserved_end_bytes);
  EXPECT_EQ(requested,
            index->summary(trace).live_block_bytes + index->summary(trace).pending_free_bytes);
}

}  // namespace
}  // namespace memtool::tests
