// A recording under its own settings is the same recording; under others it is what the model says.
#include "memtool/profile/whatif/recorded.h"

#include <gtest/gtest.h>

#include "memtool/profile/replay/replay.h"
#include "memtool/profile/whatif/limit.h"
#include "memtool/profile/whatif/scenario.h"
#include "recordings.h"

namespace memtool::tests {
namespace {

HistoryIndex Under(const HistoryIndex& index, const whatif::AllocatorSettings& settings) {
  auto made = whatif::RecordedUnder(index, settings);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return HistoryIndex(*std::move(made));
}

whatif::AllocatorSettings ConfSettings(const std::string& text) {
  return *whatif::ParseAllocatorConf(text);
}

TEST(WhatIfRecorded, UnderItsOwnSettingsNothingChanges) {
  for (const Generated& one : AllGenerated()) {
    const auto index = OpenGenerated(one.name);
    const HistoryIndex made = Under(*index, whatif::RecordedSettings(index->recording()));
    const TraceSummary& was = index->summary(std::size_t{0});
    const TraceSummary& is = made.summary(std::size_t{0});
    EXPECT_EQ(is.peak_bytes, was.peak_bytes) << one.name;
    EXPECT_EQ(is.end_bytes, was.end_bytes) << one.name;
    EXPECT_EQ(is.reserved_peak_bytes, was.reserved_peak_bytes) << one.name;
    EXPECT_EQ(is.reserved_end_bytes, was.reserved_end_bytes) << one.name;
    EXPECT_EQ(is.ooms.size(), was.ooms.size()) << one.name;
    EXPECT_TRUE(is.reconciles()) << one.name;
    EXPECT_EQ(is.segment_events, was.segment_events) << one.name;
  }
}

// What is live does not depend on the allocator, what is reserved is the run's figure, and the new
// recording replays exactly under the settings that made it.
TEST(WhatIfRecorded, UnderOthersItIsTheRun) {
  for (const std::string conf :
       {"expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"}) {
    for (const std::string name : {"default", "streams", "pools"}) {
      const auto index = OpenGenerated(name);
      const whatif::AllocatorSettings settings = ConfSettings(conf);
      const HistoryIndex made = Under(*index, settings);
      const TraceSummary& was = index->summary(std::size_t{0});
      const TraceSummary& is = made.summary(std::size_t{0});
      EXPECT_EQ(is.peak_bytes, was.peak_bytes) << name << conf;
      EXPECT_EQ(is.end_bytes, was.end_bytes) << name << conf;
      EXPECT_TRUE(is.reconciles()) << name << conf;
      const auto run =
          whatif::RunOnce(CollectRequests(*index), settings, {.total = {}, .until = {}});
      EXPECT_EQ(is.reserved_peak_bytes, run.reserved_peak) << name << conf;
      const Trace& trace = made.history().traces.front();
      const auto requests = whatif::CollectRequests(made, trace, settings);
      const auto fidelity = whatif::ComputeFidelity(made, trace, settings, requests);
      EXPECT_TRUE(fidelity.exact()) << name << conf << ": " << Text(fidelity);
    }
  }
}

TEST(WhatIfRecorded, RealFilesStaySound) {
  for (const std::string& path : RealFiles()) {
    const auto index = OpenFile(path);
    const HistoryIndex made = Under(*index, ConfSettings("expandable_segments:True"));
    for (std::size_t row = 0; row < made.history().traces.size(); ++row) {
      EXPECT_EQ(made.summary(row).peak_bytes, index->summary(row).peak_bytes) << path;
      EXPECT_EQ(made.summary(row).reconciles(), index->summary(row).reconciles()) << path;
    }
  }
}

}  // namespace
}  // namespace memtool::tests
