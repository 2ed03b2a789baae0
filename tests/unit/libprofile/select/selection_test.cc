// Selections: moments of one recording that is read once, filters, sample types, and what is shared
// between them.
#include "memtool/profile/select/selection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/rows/table.h"
#include "support/make_history.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Shared = std::shared_ptr<const Recording>;

// Device 0 holds 100, 130 (its peak, after event 1), 30, 37; device 1 holds 5.
Shared TwoDevices() {
  RecordingBuilder builder;
  const auto stacks = test::AddStacks(builder, 2, "model.py");
  const LabelSetId user = builder.InternLabels(std::array{Label{
      .key = builder.Intern("user"), .text = builder.Intern("layer1"), .unit = StringId(0U)}});
  History history = test::BuildHistory(
      {{.key = 0x1000, .size = 100, .stack = stacks[0], .action = Action::kAlloc},
       {.key = 0x2000, .size = 30, .stack = stacks[1], .action = Action::kAlloc},
       {.key = 0x1000, .size = 100, .stack = {}, .action = Action::kFreeCompleted},
       {.key = 0x1000, .size = 7, .stack = stacks[0], .action = Action::kAlloc}});
  test::AddTrace(history,
                 {{.key = 0x1000, .size = 5, .stack = stacks[1], .action = Action::kAlloc}});
  history.labels.resize(history.events.size(), LabelSetId(0U));
  history.labels[1] = user;
  AllocatorState state = test::InOneSegment({{.address = 0x1000,
                                              .size = 512,
                                              .requested = 7,
                                              .stack = stacks[0],
                                              .state = BlockState::kActive},
                                             {.address = 0x2000,
                                              .size = 512,
                                              .requested = 30,
                                              .stack = stacks[1],
                                              .state = BlockState::kActive}},
                                            1 << 20);
  return std::make_shared<const Recording>(
      test::MakeRecording(std::move(history), std::move(state), std::move(builder)));
}

Shared SmallProfile() {
  return std::make_shared<const Recording>(test::ProfileMaker()
                                               .Sample("main;train", {2, 200}, "device=cuda:0")
                                               .Sample("main;load", {1, 40}, "device=cuda:1")
                                               .Finish());
}

// Every column that a moment, a filter or a sum reads.
std::vector<std::string> Columns(const Recording& recording) {
  std::vector<std::string> rows;
  for (std::uint32_t i = 0; i < recording.strings.size(); ++i) {
    rows.emplace_back(recording.strings[StringId(i)]);
  }
  for (const Function& each : recording.functions) {
    rows.push_back(fmt::format("function {} {}", each.name.value(), each.filename.value()));
  }
  for (const Line& each : recording.lines) {
    rows.push_back(fmt::format("line {} {}", each.function.value(), each.line));
  }
  for (const Location& each : recording.locations) {
    rows.push_back(fmt::format("location {} {}", each.first_line, each.line_count));
  }
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    rows.emplace_back("stack");
    for (const LocationId location : recording.Stack(StackId(i))) {
      rows.back() += fmt::format(" {}", location.value());
    }
  }
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    rows.emplace_back("labels");
    for (const Label& label : recording.Labels(LabelSetId(i))) {
      rows.back() += fmt::format(" {}={}", label.key.value(), label.text.value());
    }
  }
  for (const Event& each : recording.history->events) {
    rows.push_back(fmt::format("event {} {} {} {} {} {} {}", each.key, each.size, each.time,
                               each.stack.value(), each.stream, each.domain,
                               static_cast<int>(each.action)));
  }
  for (const Block& each : recording.state->blocks) {
    rows.push_back(fmt::format("block {} {} {} {} {}", each.address, each.size, each.requested,
                               each.stack.value(), static_cast<int>(each.state)));
  }
  for (const Segment& each : recording.state->segments) {
    rows.push_back(fmt::format("segment {} {} {}", each.address, each.size, each.block_count));
  }
  rows.push_back(fmt::format("traces {} ledgers {} profile {} diagnostics {}",
                             recording.history->traces.size(), recording.history->domains.size(),
                             recording.profile.has_value(), recording.diagnostics.size()));
  return rows;
}

// "name flat" per function.
std::vector<std::string> Functions(const Selection& selection) {
  NodeSpace space;
  Tabulator table(*ParseBy("function"), space);
  table.Add(MakeInput(selection));
  std::vector<std::string> rows;
  for (const Row& row : table.Rows(SortBy::kFlat)) {
    if (row.value.flat != 0) {
      rows.push_back(fmt::format("{} {}", row.name, row.value.flat));
    }
  }
  return rows;
}

std::shared_ptr<const Filter> Focus(std::string pattern) {
  FilterOptions options = test::AllFrames();
  options.focus = std::move(pattern);
  return std::make_shared<const Filter>(*Filter::Compile(options));
}

TEST(Select, TwoMomentsOfOneRecording) {
  const Shared recording = TwoDevices();
  const auto before = Columns(*recording);
  const auto peak = Select(recording, {.name = "a file", .moment = *ParseMoment("peak")});
  ASSERT_TRUE(peak) << ToString(peak.error());
  const auto end = Select(recording, {.moment = *ParseMoment("end")}, peak->shared_history());
  ASSERT_TRUE(end) << ToString(end.error());

  EXPECT_THAT(Functions(*peak), ElementsAre("f0 100", "f1 35"));
  EXPECT_EQ(peak->sums().total, 135);
  ASSERT_EQ(peak->moments().size(), 2U);
  EXPECT_EQ(peak->moments()[0].event, 1);
  EXPECT_EQ(peak->moments()[0].summary.peak_bytes, 130);
  EXPECT_EQ(peak->moments()[1].event, 0);
  EXPECT_EQ(peak->moment().text, "peak");
  EXPECT_EQ(peak->name(), "a file");

  EXPECT_THAT(Functions(*end), ElementsAre("f1 35", "f0 7"));
  EXPECT_EQ(end->sums().total, 42);
  ASSERT_EQ(end->moments().size(), 2U);
  EXPECT_EQ(end->moments()[0].event, 3);
  EXPECT_EQ(end->moment().text, "end");

  EXPECT_EQ(Columns(*recording), before);
  EXPECT_EQ(&peak->source(), recording.get());
  EXPECT_EQ(&end->source(), recording.get());
  EXPECT_NE(&peak->recording(), recording.get());
  EXPECT_NE(&peak->recording(), &end->recording());
  EXPECT_EQ(end->history(), peak->history()) << "replayed once";
  EXPECT_EQ(peak->history()->shared(), recording);
  EXPECT_EQ(peak->recording().history, recording->history) << "no copy of the events";
  EXPECT_EQ(end->recording().state, recording->state);
}

// The question is where memory ran out; without that, what the peak is made of.
TEST(Select, WithoutAMomentEachDeviceHasItsOwn) {
  const auto peak = Select(TwoDevices(), {});
  ASSERT_TRUE(peak) << ToString(peak.error());
  EXPECT_EQ(peak->moment().text, "peak");
  EXPECT_EQ(peak->sums().total, 135);
  EXPECT_EQ(peak->moments()[0].live, 130);
  EXPECT_EQ(peak->moments()[1].live, 5);

  // Device 0 holds 100 and 40 where it runs out; device 1 peaks at 60 and ends with 20.
  RecordingBuilder builder;
  const auto stacks = test::AddStacks(builder, 2, "model.py");
  History history = test::BuildHistory(
      {{.key = 0x1000, .size = 100, .stack = stacks[0], .action = Action::kAlloc},
       {.key = 0x1000, .size = 100, .stack = {}, .action = Action::kFreeCompleted},
       {.key = 0x2000, .size = 40, .stack = stacks[1], .action = Action::kAlloc},
       {.key = 7, .size = 4096, .stack = stacks[1], .action = Action::kOom},
       {.key = 0x2000, .size = 40, .stack = {}, .action = Action::kFreeCompleted}});
  test::AddTrace(history,
                 {{.key = 0x1000, .size = 20, .stack = stacks[1], .action = Action::kAlloc},
                  {.key = 0x2000, .size = 40, .stack = stacks[1], .action = Action::kAlloc},
                  {.key = 0x2000, .size = 40, .stack = {}, .action = Action::kFreeCompleted}});
  const Shared recording = std::make_shared<const Recording>(
      test::MakeRecording(std::move(history), std::nullopt, std::move(builder)));
  const auto both = Select(recording, {});
  ASSERT_TRUE(both) << ToString(both.error());
  EXPECT_EQ(both->moment().text, "oom-or-peak");
  EXPECT_EQ(both->sums().total, 100);
  EXPECT_EQ(both->moments()[0].event, 3);
  EXPECT_EQ(both->moments()[1].event, 1);
  const auto failed = Select(recording, {.device = "0"}, both->shared_history());
  ASSERT_TRUE(failed) << ToString(failed.error());
  EXPECT_EQ(failed->moment().text, "oom");
  EXPECT_EQ(failed->sums().total, 40);
  const auto whole = Select(recording, {.device = "1"}, both->shared_history());
  ASSERT_TRUE(whole) << ToString(whole.error());
  EXPECT_EQ(whole->moment().text, "peak");

  // Who asks for a failure that is not there is told which device has one.
  const auto missing = Select(recording, {.moment = *ParseMoment("oom:4")}, both->shared_history());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              HasSubstr("1 out-of-memory event is recorded on device 0: oom or oom:0"));
}

TEST(Select, SumsAreWhatIsLive) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const auto recording = std::make_shared<const Recording>(test::RandomHistory(seed, seed * 100));
    const auto before = Columns(*recording);
    const Replay replay(*recording, recording->history->traces[0]);
    const auto index = std::make_shared<const HistoryIndex>(recording);
    for (const char* text : {"end", "start", "event:200", "peak", "oom"}) {
      const auto selection = Select(recording, {.moment = *ParseMoment(text)}, index);
      ASSERT_TRUE(selection) << ToString(selection.error());
      std::int64_t live = 0;
      for (const LiveBlock& block : replay.LiveAt(selection->moments()[0].event)) {
        live += block.size;
      }
      EXPECT_EQ(selection->sums().total, live) << text << ", seed " << seed;
      EXPECT_EQ(selection->shared_history(), index);
    }
    EXPECT_EQ(Columns(*recording), before);
  }
}

TEST(Select, DeviceFilterAndSampleTypeOfAHistory) {
  const Shared recording = TwoDevices();
  const auto device =
      Select(recording, {.moment = *ParseMoment("peak"), .device = "0", .filter = Focus("f1")});
  ASSERT_TRUE(device) << ToString(device.error());
  EXPECT_THAT(Functions(*device), ElementsAre("f1 30"));
  EXPECT_EQ(device->sums().total, 130);  // before any filter
  EXPECT_EQ(device->moments().size(), 1U);
  EXPECT_EQ(device->device(), "0");

  const auto counts = Select(recording, {.sample_type = "allocations"});
  ASSERT_TRUE(counts) << ToString(counts.error());
  EXPECT_THAT(Functions(*counts), ElementsAre("f1 2", "f0 1"));
  EXPECT_EQ(counts->choice().name, "allocations");
}

TEST(Select, AProfileIsShared) {
  const Shared recording = SmallProfile();
  const std::string before = test::Canonical(*recording);
  const auto selection = Select(recording, {});
  const auto other = Select(recording, {.filter = Focus("load")});
  ASSERT_TRUE(selection && other);
  for (const Selection* each : {&*selection, &*other}) {
    EXPECT_EQ(&each->source(), recording.get());
    EXPECT_EQ(&each->recording(), recording.get());
    EXPECT_EQ(&each->view().recording(), recording.get());
    EXPECT_EQ(each->history(), nullptr);
    EXPECT_EQ(each->shared_history(), nullptr);
    EXPECT_TRUE(each->moments().empty());
    EXPECT_EQ(each->sums().total, 240);
  }
  EXPECT_THAT(Functions(*selection), ElementsAre("train 200", "load 40"));
  EXPECT_THAT(Functions(*other), ElementsAre("load 40"));
  EXPECT_EQ(test::Canonical(*recording), before);
}

TEST(Select, TheTypeThatAnotherInputHad) {
  const Shared recording = SmallProfile();
  const auto counts = Select(recording, {.sample_type = "allocations"});
  ASSERT_TRUE(counts) << ToString(counts.error());
  const test::ProfileMaker::Types types{{"inuse_space", "bytes"}, {"objects", "count"}};
  const Recording turned = test::ProfileMaker(types).Sample("main", {640, 3}).Finish();
  const auto same = Select(turned, {.sample_type = "inuse_space", .like = counts->choice()});
  ASSERT_TRUE(same) << ToString(same.error());
  EXPECT_EQ(same->choice().name, "objects");
  EXPECT_EQ(same->sums().total, 3);
}

TEST(Select, HoldsAllThatItRefersTo) {
  std::optional<Selection> kept;
  for (const char* pattern : {"train", "load"}) {
    auto made = Select(Recording(*SmallProfile()), {.filter = Focus(pattern)});
    ASSERT_TRUE(made) << ToString(made.error());
    kept = *std::move(made);
  }
  EXPECT_THAT(Functions(*kept), ElementsAre("load 40"));
  auto history = Select(Recording(*TwoDevices()), {.moment = *ParseMoment("end")});
  ASSERT_TRUE(history) << ToString(history.error());
  *kept = *std::move(history);
  EXPECT_THAT(Functions(*kept), ElementsAre("f1 35", "f0 7"));
  EXPECT_EQ(kept->history()->summary(0).peak_bytes, 130);
}

TEST(Select, WhatIsNotThereIsSaid) {
  const auto refused = [](const Shared& recording, const SelectOptions& options, ErrorCode code,
                          const char* words) {
    const auto selection = Select(recording, options);
    ASSERT_FALSE(selection) << words;
    EXPECT_EQ(selection.error().code, code) << words;
    EXPECT_THAT(ToString(selection.error()), HasSubstr(words));
  };
  const Shared history = TwoDevices();
  const Shared profile = SmallProfile();
  for (const char* text : {"start", "peak", "event:1", "time:1s"}) {
    refused(profile, {.moment = *ParseMoment(text)}, ErrorCode::kUsage, text);
    refused(profile, {.moment = *ParseMoment(text)}, ErrorCode::kUsage, "no history to stand in");
  }
  refused(history, {.device = "7"}, ErrorCode::kUsage, "there is no device '7'");
  refused(history, {.moment = *ParseMoment("event:1")}, ErrorCode::kUsage, "choose one");
  refused(history, {.moment = *ParseMoment("event:9"), .device = "0"}, ErrorCode::kUsage,
          "events 0 to 3");
  refused(history, {.moment = *ParseMoment("oom")}, ErrorCode::kUsage, "no out-of-memory event");
  refused(history, {.sample_type = "cycles"}, ErrorCode::kUsage, "cycles");
  refused(profile, {.sample_type = "cycles"}, ErrorCode::kUsage, "cycles");
  refused(std::make_shared<const Recording>(*RecordingBuilder().Finish()), {},
          ErrorCode::kUnsupported, "");
}

TEST(Selection, ScaledByMultipliesEveryValue) {
  const Shared recording = SmallProfile();
  const auto selection = Select(recording, {.name = "a file", .filter = Focus("train|load")});
  ASSERT_TRUE(selection) << ToString(selection.error());
  const Selection half = selection->ScaledBy(0.5);
  EXPECT_EQ(half.scale(), 0.5);
  EXPECT_EQ(MakeInput(half).scale, 0.5);
  EXPECT_EQ(half.sums().total, 120);
  EXPECT_THAT(Functions(half), ElementsAre("train 100", "load 20"));
  EXPECT_EQ(&half.recording(), recording.get());
  EXPECT_EQ(&half.view().filter_options(), &selection->view().filter_options());
  EXPECT_EQ(half.choice().name, "space");
  EXPECT_EQ(half.name(), "a file");

  EXPECT_EQ(selection->scale(), 1.0) << "a selection does not change";
  EXPECT_THAT(Functions(*selection), ElementsAre("train 200", "load 40"));

  const auto halved = Select(recording, {.scale = 0.5});
  ASSERT_TRUE(halved) << ToString(halved.error());
  EXPECT_EQ(halved->sums().total, 120);
}

TEST(Selection, ScaledByKeepsTheMoment) {
  const auto peak = Select(TwoDevices(), {.moment = *ParseMoment("peak"), .device = "0"});
  ASSERT_TRUE(peak) << ToString(peak.error());
  const Selection twice = peak->ScaledBy(2.0);
  EXPECT_THAT(Functions(twice), ElementsAre("f0 200", "f1 60"));
  EXPECT_EQ(&twice.recording(), &peak->recording());
  EXPECT_EQ(twice.history(), peak->history());
  EXPECT_EQ(twice.moments().size(), 1U);
  EXPECT_EQ(twice.moments()[0].event, 1);
  EXPECT_EQ(twice.moments()[0].summary.peak_bytes, 130) << "as the history tells";
}

TEST(Selection, OfWhatIsLeft) {
  const auto peak = Select(TwoDevices(), {.name = "a file",
                                          .moment = *ParseMoment("peak"),
                                          .filter = Focus("f1"),
                                          .sample_type = "allocations",
                                          .scale = 10.0});
  ASSERT_TRUE(peak) << ToString(peak.error());
  EXPECT_THAT(Functions(*peak), ElementsAre("f1 20"));
  // The samples of device 0, which come first: 100 of f0 and 30 of f1.
  RecordingBuilder builder(peak->recording());
  const Profile samples = builder.profile();
  ASSERT_EQ(samples.size(), 3U);
  builder.SetSamples(
      {samples.stacks[0], samples.stacks[1]}, {samples.label_sets[0], samples.label_sets[1]},
      {{samples.values[0][0], samples.values[0][1]}, {samples.values[1][0], samples.values[1][1]}});
  const Selection rest = peak->Of(*std::move(builder).Finish());
  EXPECT_THAT(Functions(rest), ElementsAre("f1 10"));
  EXPECT_EQ(rest.sums().total, 20);
  EXPECT_EQ(rest.scale(), 10.0);
  EXPECT_EQ(rest.recording().profile->size(), 2U);
  EXPECT_EQ(&rest.view().recording(), &rest.recording());
  EXPECT_EQ(rest.choice().name, "allocations");
  EXPECT_EQ(rest.name(), "a file");
  EXPECT_EQ(&rest.source(), &peak->source());
  EXPECT_EQ(rest.history(), peak->history());
  EXPECT_EQ(rest.moments().size(), 2U);
  EXPECT_THAT(Functions(*peak), ElementsAre("f1 20")) << "a selection does not change";
}

TEST(Selection, InputOfRefersToIt) {
  const auto selection = Select(SmallProfile(), {.name = "a file"});
  ASSERT_TRUE(selection) << ToString(selection.error());
  const Input input = MakeInput(*selection);
  EXPECT_EQ(input.view, &selection->view());
  EXPECT_EQ(input.sums, &selection->sums());
  EXPECT_EQ(input.choice, &selection->choice());
  EXPECT_EQ(input.name, "a file");
  EXPECT_EQ(input.scale, 1.0);
}

TEST(RecordingAt, IsTheRecordingOrAMomentOfIt) {
  const Shared profile = SmallProfile();
  EXPECT_EQ(RecordingAt(profile, {}, "").value(), profile);
  const auto none = RecordingAt(profile, *ParseMoment("peak"), "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUsage);

  const Shared history = TwoDevices();
  const auto before = Columns(*history);
  const auto peak = RecordingAt(history, *ParseMoment("peak"), "0");
  ASSERT_TRUE(peak) << ToString(peak.error());
  EXPECT_THAT(test::Stacks(**peak), ElementsAre("f0 100", "f1 30"));
  EXPECT_EQ(Columns(*history), before);
  EXPECT_FALSE(RecordingAt(history, {}, "7"));
}

}  // namespace
}  // namespace memtool
