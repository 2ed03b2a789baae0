#include "memtool/profile/model/recording_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

namespace memtool {
namespace {

using testing::HasSubstr;

// A consistent recording with one of everything; tests break it in one place.
struct Parts {
  RecordingBuilder builder;
  StackId stack;
  LabelSetId labels;

  Parts() {
    const FunctionId function = builder.AddFunction({.name = builder.Intern("f"),
                                                     .system_name = builder.Intern("f"),
                                                     .filename = builder.Intern("f.py"),
                                                     .start_line = 1});
    const MappingId mapping = builder.AddMapping(
        {.start = 1, .limit = 2, .filename = builder.Intern("m"), .build_id = builder.Intern("")});
    const std::array lines{Line{function, 3, 0}};
    const std::array locations{builder.AddLocation({.mapping = mapping}, lines)};
    stack = builder.AddStack(locations);
    const std::array set{
        Label{.key = builder.Intern("k"), .text = builder.Intern("v"), .unit = builder.Intern("")}};
    labels = builder.InternLabels(set);
    builder.StartProfile({{builder.Intern("space"), builder.Intern("bytes"), Role::kBytes}},
                         builder.Intern(""));
  }
};

void ExpectRefused(const std::function<void(Parts&)>& damage, const std::string& reason) {
  Parts parts;
  damage(parts);
  const auto recording = std::move(parts.builder).Finish();
  ASSERT_FALSE(recording.has_value()) << reason;
  EXPECT_EQ(recording.error().code, ErrorCode::kMalformed);
  EXPECT_THAT(recording.error().message, HasSubstr(reason));
}

TEST(RecordingBuilder, KeepsWhatItWasGiven) {
  Parts parts;
  parts.builder.AddSample(parts.stack, parts.labels, std::array<std::int64_t, 1>{42});
  const auto recording = std::move(parts.builder).Finish();
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->profile->size(), 1U);
  EXPECT_EQ(recording->profile->values[0][0], 42);
  const auto stack = recording->Stack(recording->profile->stacks[0]);
  ASSERT_EQ(stack.size(), 1U);
  const Line& line = recording->Lines(recording->At(stack[0]))[0];
  EXPECT_EQ(line.line, 3);
  EXPECT_EQ(recording->Text(recording->functions[line.function.value()].name), "f");
  EXPECT_EQ(recording->Labels(recording->profile->label_sets[0]).size(), 1U);
}

TEST(RecordingBuilder, GivesALocationWithoutLinesOne) {
  RecordingBuilder builder;
  builder.AddLocation({}, {});
  const auto recording = std::move(builder).Finish();
  ASSERT_TRUE(recording.has_value());
  EXPECT_TRUE(recording->Unsymbolized(recording->locations[0]));
  EXPECT_EQ(recording->Lines(recording->locations[0]).size(), 1U);
}

TEST(RecordingBuilder, GivesEqualLabelSetsOneId) {
  Parts parts;
  RecordingBuilder& builder = parts.builder;
  const Label text{
      .key = builder.Intern("k"), .text = builder.Intern("v"), .unit = builder.Intern("")};
  const Label number{.key = builder.Intern("k"),
                     .text = builder.Intern(""),
                     .number = 7,
                     .unit = builder.Intern("bytes"),
                     .numeric = true};
  EXPECT_EQ(builder.InternLabels({}).value(), 0U);
  EXPECT_EQ(builder.InternLabels(std::array{text}), parts.labels);
  const LabelSetId both = builder.InternLabels(std::array{text, number});
  EXPECT_NE(both, parts.labels);
  EXPECT_EQ(builder.InternLabels(std::array{text, number}), both);
  EXPECT_NE(builder.InternLabels(std::array{number, text}), both);  // order is the file's
}

TEST(RecordingBuilder, RefusesReferencesOutOfRange) {
  ExpectRefused(
      [](Parts& p) {
        p.builder.AddLocation({}, std::array{Line{FunctionId(std::uint32_t{1}), 1, 0}});
      },
      "function row 1");
  ExpectRefused(
      [](Parts& p) { p.builder.AddLocation({.mapping = MappingId(std::uint32_t{1})}, {}); },
      "mapping row 1");
  ExpectRefused([](Parts& p) { p.builder.AddStack(std::array{LocationId(std::uint32_t{1})}); },
                "location");
  ExpectRefused([](Parts& p) { p.builder.AddStack(std::array{LocationId()}); }, "location");
  ExpectRefused(
      [](Parts& p) {
        p.builder.AddSample(StackId(std::uint32_t{1}), p.labels, std::array<std::int64_t, 1>{1});
      },
      "sample 0 refers to a stack");
  ExpectRefused(
      [](Parts& p) { p.builder.AddSample(StackId(), p.labels, std::array<std::int64_t, 1>{1}); },
      "sample 0 refers to a stack");
  ExpectRefused(
      [](Parts& p) {
        p.builder.AddSample(p.stack, LabelSetId(std::uint32_t{2}), std::array<std::int64_t, 1>{1});
      },
      "label set out of range");
  ExpectRefused([](Parts& p) { p.builder.SetUnknownSizes({0}); }, "unknown size");
}

TEST(RecordingBuilder, RefusesColumnsOfUnequalLength) {
  ExpectRefused([](Parts& p) { p.builder.SetSamples({p.stack}, {}, {{1}}); }, "differ in length");
  ExpectRefused([](Parts& p) { p.builder.SetSamples({p.stack}, {p.labels}, {{}}); },
                "differ in length");
  ExpectRefused(
      [](Parts& p) {
        p.builder.SetSamples({p.stack}, {p.labels}, {{1}, {1}});
      },
      "differ in length");
  ExpectRefused([](Parts& p) { p.builder.AddSample(p.stack, p.labels, {}); }, "differ in length");
}

History GoodHistory() {
  History history;
  const DomainId blocks(std::uint32_t{0});
  history.domains.resize(2);
  history.streams = {0};
  history.events = {{.key = 1, .size = 8, .action = Action::kAlloc}};
  history.traces = {{.first_event = 0,
                     .event_count = 1,
                     .blocks = blocks,
                     .segments = DomainId(std::uint32_t{1})}};
  return history;
}

TEST(RecordingBuilder, TakesAConsistentHistory) {
  Parts parts;
  parts.builder.SetHistory(GoodHistory());
  EXPECT_TRUE(std::move(parts.builder).Finish().has_value());
}

TEST(RecordingBuilder, RefusesAHistoryOutOfRange) {
  const auto refused = [](const std::function<void(History&)>& damage, const std::string& reason) {
    ExpectRefused(
        [&](Parts& parts) {
          History history = GoodHistory();
          damage(history);
          parts.builder.SetHistory(std::move(history));
        },
        reason);
  };
  refused([](History& h) { h.traces[0].first_event = 2; }, "trace");
  refused([](History& h) { h.traces[0].event_count = 2; }, "trace");
  refused([](History& h) { h.traces[0].event_count = std::numeric_limits<std::uint64_t>::max(); },
          "trace");
  refused([](History& h) { h.traces[0].blocks = DomainId(); }, "trace");
  refused([](History& h) { h.traces[0].segments = DomainId(std::uint32_t{2}); }, "trace");
  refused([](History& h) { h.events[0].domain = 2; }, "event");
  refused([](History& h) { h.events[0].stream = 1; }, "event");
  refused([](History& h) { h.events[0].size = -1; }, "event");
  refused([](History& h) { h.events[0].stack = StackId(std::uint32_t{1}); }, "event");
  refused([](History& h) { h.labels.resize(2); }, "event columns");
  refused([](History& h) { h.labels = {LabelSetId(std::uint32_t{9})}; }, "label set");
}

TEST(RecordingBuilder, RefusesAnAllocatorStateOutOfRange) {
  const auto refused = [](const AllocatorState& state, const std::string& reason) {
    ExpectRefused([&](Parts& parts) { parts.builder.SetState(state); }, reason);
  };
  refused({.segments = {{.first_block = 1}}, .blocks = {}}, "segment");
  refused({.segments = {{.first_block = 0, .block_count = 1}}, .blocks = {}}, "segment");
  refused({.segments = {{.stack = StackId(std::uint32_t{1})}}, .blocks = {}}, "segment");
  refused({.segments = {}, .blocks = {{.stack = StackId(std::uint32_t{1})}}}, "block");
}

TEST(GetRole, KnowsUnits) {
  EXPECT_EQ(GetRole("space", "bytes"), Role::kBytes);
  EXPECT_EQ(GetRole("inuse_space", "bytes"), Role::kBytes);
  EXPECT_EQ(GetRole("requested", "bytes"), Role::kRequestedBytes);
  EXPECT_EQ(GetRole("allocations", "count"), Role::kCount);
  EXPECT_EQ(GetRole("space", "kilobytes"), Role::kOther);
  EXPECT_EQ(GetRole("cpu", "nanoseconds"), Role::kOther);
}

}  // namespace
}  // namespace memtool
