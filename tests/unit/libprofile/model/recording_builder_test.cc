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

TEST(RecordingBuilder, NotesWhichActionsEventsHave) {
  Parts parts;
  History history = GoodHistory();
  history.events.push_back({.key = 1, .size = 8, .action = Action::kFreeCompleted});
  history.traces[0].event_count = 2;
  history.actions = ~0U;  // whatever a reader left there
  parts.builder.SetHistory(std::move(history));
  const auto recording = std::move(parts.builder).Finish();
  ASSERT_TRUE(recording.has_value());
  for (int i = 0; i <= static_cast<int>(Action::kOther); ++i) {
    const auto action = static_cast<Action>(i);
    EXPECT_EQ(recording->history->Has(action),
              action == Action::kAlloc || action == Action::kFreeCompleted)
        << i;
  }
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
  refused([](History& h) { h.domains[1].parent = DomainId(std::uint32_t{2}); }, "parent");
  refused([](History& h) { h.traces.push_back(h.traces[0]); }, "share events");
  refused([](History& h) { h.traces[0].agreeing_changes = 1; }, "compared");
  refused([](History& h) { h.mapped = {{.event = 1}}; }, "mapped range");
  refused([](History& h) { h.mapped = {{.event = 0, .size = -1}}; }, "mapped range");
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

// 4 KiB at 4096: 1 KiB allocated, 512 bytes that wait, and the rest free.
AllocatorState GoodState() {
  return {.segments = {{.address = 4096,
                        .size = 4096,
                        .allocated = 1024,
                        .active = 1536,
                        .requested = 1500,
                        .device = 0,
                        .stack = {},
                        .block_count = 3}},
          .blocks = {{4096, 1024, 1000, {}, BlockState::kActive},
                     {5120, 512, 500, {}, BlockState::kPendingFree},
                     {5632, 2560, 0, {}, BlockState::kInactive}}};
}

TEST(RecordingBuilder, RefusesAStateThatContradictsItself) {
  const auto refused = [](const std::function<void(AllocatorState&)>& damage,
                          const std::string& reason) {
    AllocatorState state = GoodState();
    damage(state);
    ExpectRefused([&](Parts& parts) { parts.builder.SetState(state); }, reason);
  };
  refused([](AllocatorState& s) { s.segments[0].size = -4096; }, "negative");
  refused([](AllocatorState& s) { s.segments[0].active = -2; }, "negative");
  refused([](AllocatorState& s) { s.blocks[2].size = -1; }, "negative");
  refused([](AllocatorState& s) { s.blocks[2].requested = -1; }, "negative");
  refused(
      [](AllocatorState& s) {
        s.segments[0].size = INT64_MAX;
        s.segments[0].address = ~0ULL;
      },
      "ends beyond the last address");
  refused([](AllocatorState& s) { s.blocks[0].address = 0; }, "a block lies before it");
  refused([](AllocatorState& s) { s.blocks[0].size = 1025; }, "overlap");
  refused([](AllocatorState& s) { s.blocks[2].size = INT64_MAX; }, "a block lies beyond its end");
  refused([](AllocatorState& s) { s.segments[0].active = 4097; }, "more of it is in use");
  refused([](AllocatorState& s) { s.segments[0].active = 1537; }, "free blocks are more");
  refused([](AllocatorState& s) { s.segments[0].allocated = 1537; }, "more of it is allocated");
  refused([](AllocatorState& s) { s.segments[0].active = s.segments[0].allocated = 1024; },
          "its blocks are more");
  refused(
      [](AllocatorState& s) {
        s.segments.push_back(s.segments[0]);
        s.segments[1].block_count = 0;
        s.segments[1].first_block = 3;
        s.segments[1].active = s.segments[1].allocated = s.segments[1].requested = 0;
        s.segments[1].address = 8191;
      },
      "it overlaps with the segment at 0x1000");
  refused(
      [](AllocatorState& s) {
        s.segments.push_back(s.segments[0]);
        s.segments[1].device = 1;
      },
      "shares blocks");
  refused([](AllocatorState& s) { s.blocks.push_back(s.blocks[2]); }, "of no segment");
}

Recording Finished(const AllocatorState& state, std::vector<std::uint64_t> offsets = {}) {
  RecordingBuilder builder;
  builder.SetState(state, std::move(offsets));
  auto recording = std::move(builder).Finish();
  EXPECT_TRUE(recording.has_value()) << ToString(recording.error());
  return *std::move(recording);
}

TEST(RecordingBuilder, SaysWhichSegmentContradictsItself) {
  AllocatorState state = GoodState();
  state.blocks[0].address = 0;
  RecordingBuilder builder;
  builder.SetState(state, {77});
  const auto recording = std::move(builder).Finish();
  ASSERT_FALSE(recording.has_value());
  EXPECT_EQ(ToString(recording.error()),
            "byte 77: segment at 0x1000: contradicts itself: a block lies before it");
}

TEST(RecordingBuilder, AddsUpWhatASegmentLeavesToItsBlocks) {
  AllocatorState state = GoodState();
  Segment& segment = state.segments[0];
  segment.allocated = segment.active = segment.requested = kSumOfBlocks;
  const Recording recording = Finished(state);
  EXPECT_EQ(recording.state->segments[0].allocated, 1024);
  EXPECT_EQ(recording.state->segments[0].active, 1536);
  EXPECT_EQ(recording.state->segments[0].requested, 1500);
  EXPECT_TRUE(recording.diagnostics.empty());
}

TEST(RecordingBuilder, PutsWhatCanBeInPlaceOfWhatCannot) {
  AllocatorState state = GoodState();
  state.blocks[0].requested = 1025;
  state.segments[0].requested = 1525;
  const Recording small = Finished(state, {77});
  EXPECT_EQ(small.state->blocks[0].requested, 1024);
  EXPECT_EQ(small.state->segments[0].requested, 1524);
  ASSERT_EQ(small.diagnostics.size(), 1U);
  EXPECT_EQ(small.diagnostics[0].code, "segments_with_small_blocks");
  EXPECT_EQ(small.diagnostics[0].severity, Severity::kDamage);
  EXPECT_EQ(small.diagnostics[0].offset, 77U);

  const auto mended = [](const std::function<void(Segment&)>& damage) {
    AllocatorState damaged = GoodState();
    damage(damaged.segments[0]);
    const Recording recording = Finished(damaged);
    ASSERT_EQ(recording.diagnostics.size(), 1U);
    EXPECT_EQ(recording.diagnostics[0].code, "segment_sums");
    EXPECT_EQ(recording.diagnostics[0].severity, Severity::kDamage);
    EXPECT_EQ(recording.state->segments[0].allocated, 1024);
    EXPECT_EQ(recording.state->segments[0].requested, 1500);
  };
  mended([](Segment& segment) { segment.requested = INT64_MAX; });
  mended([](Segment& segment) { segment.requested = 1499; });
  mended([](Segment& segment) { segment.allocated = 1536; });
}

// What is in use outside of the blocks that are listed is only bounded.
TEST(RecordingBuilder, BoundsWhatIsNotListed) {
  AllocatorState state = GoodState();
  state.blocks.pop_back();
  state.segments[0].block_count = 2;
  state.segments[0].active = 3536;
  state.segments[0].allocated = 3024;
  state.segments[0].requested = 3500;
  const Recording sound = Finished(state);
  EXPECT_EQ(sound.state->segments[0].requested, 3500);
  ASSERT_EQ(sound.diagnostics.size(), 1U);
  EXPECT_EQ(sound.diagnostics[0].code, "blocks_do_not_fill_segment");
  state.segments[0].requested = 3501;
  EXPECT_EQ(Finished(state).state->segments[0].requested, 3500);
  EXPECT_EQ(Finished(state).diagnostics.size(), 2U);
}

// A recording that goes on, or comes from a container, has said it already.
TEST(RecordingBuilder, SaysTheSameDamageOnce) {
  AllocatorState state = GoodState();
  state.blocks[0].requested = 1025;
  const Recording first = Finished(state);
  RecordingBuilder builder(first);
  builder.SetState(state);
  const auto second = std::move(builder).Finish();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->diagnostics.size(), 1U);
}

TEST(RecordingBuilder, LeavesOutFiguresOfLedgersThatCannotBe) {
  History history = GoodHistory();
  history.domains[0].capacity = -1;
  history.domains[1].capacity = 0;
  history.traces[0].lifetime_peak = INT64_MIN;
  RecordingBuilder builder;
  builder.SetHistory(std::move(history));
  const auto recording = std::move(builder).Finish();
  ASSERT_TRUE(recording.has_value());
  EXPECT_FALSE(recording->history->domains[0].capacity.has_value());
  EXPECT_EQ(recording->history->domains[1].capacity, 0);
  EXPECT_FALSE(recording->history->traces[0].lifetime_peak.has_value());
  ASSERT_EQ(recording->diagnostics.size(), 2U);
  EXPECT_EQ(recording->diagnostics[0].code, "negative_capacity");
  EXPECT_EQ(recording->diagnostics[1].code, "negative_peak");
}

TEST(RecordingBuilder, LeavesOutCountersThatCannotBe) {
  RecordingBuilder builder;
  builder.AddCounter({.kind = CounterKind::kDeviceTotal, .device = 0, .value = 10});
  builder.AddCounter({.kind = CounterKind::kDeviceFreeLowest, .device = 0, .value = 11});
  builder.AddCounter({.kind = CounterKind::kDeviceFreeLowest, .device = 1, .value = 11});
  builder.AddCounter({.kind = CounterKind::kProcessBeyondRows, .device = 0, .value = -1});
  const auto recording = std::move(builder).Finish();
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->counters.size(), 2U);
  EXPECT_EQ(recording->counters[0].kind, CounterKind::kDeviceTotal);
  EXPECT_EQ(recording->counters[1].device, 1);
  ASSERT_EQ(recording->diagnostics.size(), 1U);
  EXPECT_EQ(recording->diagnostics[0].code, "impossible_counter");
  EXPECT_EQ(recording->diagnostics[0].count, 2U);
}

// A difference of two profiles may have any figures, amounts may not.
TEST(RecordingBuilder, AmountsAreNoMoreThanWhatWasGiven) {
  for (const bool amounts : {false, true}) {
    RecordingBuilder builder;
    builder.StartProfile(
        {{builder.Intern("requested"), builder.Intern("bytes"), Role::kRequestedBytes},
         {builder.Intern("actual"), builder.Intern("bytes"), Role::kBytes}},
        builder.Intern(""));
    const StackId stack = builder.AddStack({});
    builder.AddSample(stack, LabelSetId(0U), std::array<std::int64_t, 2>{9, 8});
    builder.AddSample(stack, LabelSetId(0U), std::array<std::int64_t, 2>{7, 8});
    if (amounts) {
      builder.SamplesAreAmounts();
    }
    const auto recording = std::move(builder).Finish();
    ASSERT_TRUE(recording.has_value());
    EXPECT_EQ(recording->profile->values[0][0], amounts ? 8 : 9);
    EXPECT_EQ(recording->profile->values[0][1], 7);
    EXPECT_EQ(recording->diagnostics.size(), amounts ? 1U : 0U);
  }
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
