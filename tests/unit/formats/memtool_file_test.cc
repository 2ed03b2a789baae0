#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memtool/formats/writer.h"
#include "memtool_file/layout.h"
#include "memtool_file/memtool_reader.h"
#include "support/files.h"
#include "support/make_history.h"
#include "support/make_profile.h"
#include "support/whole_text.h"

namespace memtool::formats {
namespace {

using ::testing::HasSubstr;
using namespace std::string_view_literals;

// --- there and back -----------------------------------------------------------------------------

std::string WrittenBytes(Recording recording) {
  if (recording.metadata.format.empty()) {
    recording.metadata.format = "made";
  }
  auto bytes = WriteAs("memtool", recording);
  EXPECT_TRUE(bytes);
  return bytes ? *bytes : std::string();
}

Result<Recording> ReadBack(std::string_view bytes) {
  return test::LoadBytes(test::ToBytes(bytes));
}

void ExpectReturns(Recording recording, const std::string& what) {
  if (recording.metadata.format.empty()) {
    recording.metadata.format = "made";
  }
  const std::string bytes = WrittenBytes(recording);
  const auto back = ReadBack(bytes);
  ASSERT_TRUE(back) << what << ": " << ToString(back.error());
  EXPECT_EQ(test::WholeText(*back), test::WholeText(recording)) << what;
  EXPECT_EQ(WrittenBytes(*back), bytes) << what;
}

TEST(MemtoolFile, HoldsEverythingOfHistoriesByHand) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    ExpectReturns(test::RandomHistory(seed, seed % 3 == 0 ? 4096 : 0), std::to_string(seed));
    ExpectReturns(test::RandomProfile(seed), std::to_string(seed));
  }
}

TEST(MemtoolFile, HoldsEverythingOfTestFiles) {
  for (const char* name :
       {"pprof/forms/packed.pb", "pprof/jax_leak/memory9.prof", "torch/small/native.pickle",
        "torch/small/three_devices.pickle", "torch/fresh/annotated.json",
        "capture_log/join/log.mtcap", "hlo/small/program.hlo.pb", "xplane/program.xplane.pb",
        "xplane/train.trace.json", "kineto/trace.json", "torch_timeline/raw.json",
        "mxnet/forms/official.csv", "mxnet/sockeye/memory.log", "whatif/small/default.json"}) {
    const auto recording = test::LoadBytes(test::TestFile(name));
    ASSERT_TRUE(recording) << name;
    ExpectReturns(*recording, name);
  }
}

Metadata AllMetadata(RecordingBuilder& builder) {
  Metadata metadata;
  metadata.format = "made";
  metadata.format_display = "made \x01 by hand";
  metadata.origin = {.framework = Framework::kDriver,
                     .kind = RecordingKind::kProgram,
                     .platform = "XPU",
                     .schema = "2.9",
                     .host = "host",
                     .process = INT64_MIN,
                     .rank = "3 of 8",
                     .device_names = {"one", "", "three"}};
  metadata.default_by = "tag";
  metadata.frames_are_scopes = true;
  metadata.time_nanos = INT64_MAX;
  metadata.duration_nanos = -1;
  metadata.period_type = {
      .type = builder.Intern("space"), .unit = builder.Intern("bytes"), .role = Role::kBytes};
  metadata.period = 524288;
  metadata.drop_frames = builder.Intern("a|b");
  metadata.keep_frames = builder.Intern("c");
  metadata.doc_url = builder.Intern("https://x");
  metadata.comments = {builder.Intern("first"), builder.Intern("")};
  metadata.unpacked_bytes = UINT64_MAX;
  metadata.log_text = std::string("line\0 \xff\n", 8);
  return metadata;
}

// Every member differs from what it is by default, at the ends of its range where it has them.
Recording Everything() {
  RecordingBuilder builder;
  const auto text = [&builder](std::string_view bytes) { return builder.Intern(bytes); };
  builder.metadata() = AllMetadata(builder);
  builder.AddDiagnostic({.severity = Severity::kDamage,
                         .code = "made",
                         .message = "by hand",
                         .offset = UINT64_MAX,
                         .count = UINT64_MAX});
  builder.AddDiagnostic({.severity = Severity::kNote, .code = "", .message = ""});
  builder.AddBlindSpot("what", "why");
  builder.AddCounter({.kind = CounterKind::kDeviceFreeLowest, .device = INT32_MIN, .value = 7});
  builder.AddSetting("name", std::string("v\0l", 3));
  builder.AddMapping({UINT64_MAX, 2, 3, text("lib.so"), text("\xff\xfe"), true, false, true, true});
  const FunctionId function = builder.AddFunction({text("f"), text("_Zf"), StringId(), INT64_MIN});
  const LocationId plain = builder.AddLocation({.address = 4096}, {});
  const std::vector<Line> lines{{function, 7, 2}, {function, INT64_MAX, -1}};
  const LocationId inlined =
      builder.AddLocation({.mapping = MappingId(0U), .address = UINT64_MAX, .folded = true}, lines);
  const StackId empty = builder.AddStack({});
  const StackId stack = builder.AddStack(std::vector{inlined, plain, inlined});
  const LabelSetId labels = builder.InternLabels(std::vector<Label>{
      {.key = text("k"), .text = text("v")},
      {.key = text("n"), .number = INT64_MIN, .unit = text("B"), .numeric = true}});
  builder.StartProfile({{text("a"), text("count"), Role::kCount}, {text("b"), text("?")}},
                       text("b"));
  builder.AddSample(stack, labels, std::vector<std::int64_t>{INT64_MAX, INT64_MIN});
  builder.AddSample(empty, LabelSetId(0U), std::vector<std::int64_t>{0, -1});
  builder.SetUnknownSizes({0, 1});
  History history;
  history.domains = {{"segments", 3, DomainKind::kVmm, DomainLevel::kDriver, DomainId(), INT64_MAX},
                     {"", -1, DomainKind::kCpu, DomainLevel::kUser, DomainId(0U), 0}};
  history.traces = {{3, "t", 1, 2, DomainId(1U), DomainId(0U), true, 5, 6, 1, 8, 7, 3},
                    {-1, "", 0, 0, DomainId(0U), DomainId(0U), false, 0, 0, 0, 0, 0, {}}};
  history.streams = {0, UINT64_MAX};
  history.events = {{UINT64_MAX, 10, kNoTime, stack, 1, 1, Action::kAlloc},
                    {UINT64_MAX, 11, INT64_MAX, empty, 0, 0, Action::kFreeRequested},
                    {UINT64_MAX, 11, 5, StackId(), 1, 1, Action::kFreeCompleted},
                    {UINT64_MAX, 12, 6, stack, 1, 1, Action::kAlloc},
                    {kUnknownBytes, INT64_MAX, 7, stack, 0, 0, Action::kOom},
                    {0, INT64_MIN, 7, stack, 0, 0, Action::kAdjust},
                    {0, 0, 8, StackId(), 0, 0, Action::kOther}};
  history.labels = {labels, LabelSetId(0U), labels, labels, LabelSetId(0U), labels, labels};
  history.marks = {{"step", 2, -5, kNoTime}};
  history.mapped = {{3, UINT64_MAX, 4, 5, 6}};
  history.breakdowns = {{stack, 12, 0, 2}, {empty, 1, 2, 1}};
  history.parts = {{stack, labels, 5}, {empty, LabelSetId(0U), 7}, {stack, labels, 1}};
  history.clock = Clock::kRelative;
  builder.SetHistory(std::move(history));
  AllocatorState state;
  state.segments = {
      {UINT64_MAX - 20, 20, 12, 17, 8, 5, 1, stack, 0, 3, true, true, 8, UINT64_MAX, true}};
  state.blocks = {{UINT64_MAX - 20, 12, 5, stack, BlockState::kActive},
                  {UINT64_MAX - 8, 5, 3, StackId(), BlockState::kPendingFree},
                  {UINT64_MAX - 3, 3, 2, stack, BlockState::kInactive}};
  builder.SetState(std::move(state));
  auto recording = std::move(builder).Finish();
  EXPECT_TRUE(recording);
  return *std::move(recording);
}

TEST(MemtoolFile, HoldsEveryMember) {
  ExpectReturns(Everything(), "everything");
}

TEST(MemtoolFile, HoldsRowsOfManySections) {
  constexpr std::uint64_t kEvents = 300000;  // of 262,144 per section
  RecordingBuilder builder;
  const auto stacks = test::AddStacks(builder, 700, "model.py");
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    const std::uint64_t pair = i / 2;
    events.push_back({.key = 4096 * (pair % 999),
                      .size = static_cast<std::int64_t>(pair % 77),
                      .time = static_cast<std::int64_t>(i * 1000 + i % 3),
                      .stack = stacks[pair % stacks.size()],
                      .action = i % 2 == 0 ? Action::kAlloc : Action::kFreeCompleted});
  }
  const Recording recording = test::MakeRecording(test::BuildHistory(events), {}, builder);
  ExpectReturns(recording, "many events");
}

TEST(MemtoolFile, HoldsProfilesOfManyTypes) {
  test::ProfileMaker::Types types;
  std::vector<std::int64_t> values;
  for (int type = 0; type < 60000; ++type) {  // sections of 17 rows
    types.emplace_back("type" + std::to_string(type), "bytes");
    values.push_back(type * 1000);
  }
  test::ProfileMaker maker(types);
  for (int sample = 0; sample < 20; ++sample) {
    values.front() = sample;
    maker.Sample("main;f" + std::to_string(sample), values);
  }
  ExpectReturns(maker.Finish(), "many types");
}

TEST(MemtoolFile, SaysWhatItWasAndHowItIsPacked) {
  auto original = test::LoadBytes(test::TestFile("pprof/jax_leak/memory9.prof"));
  ASSERT_TRUE(original);
  const auto back = ReadBack(WrittenBytes(*original));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->metadata.format, "pprof");
  EXPECT_EQ(back->metadata.packing, "memtool+gzip");
  EXPECT_EQ(back->metadata.unpacked_bytes, original->metadata.unpacked_bytes);
  const auto twice = ReadBack(WrittenBytes(*back));
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->metadata.packing, "memtool+gzip");
}

// --- damage -------------------------------------------------------------------------------------

Error Refused(std::string_view bytes) {
  const auto read = ReadBack(bytes);
  EXPECT_FALSE(read);
  return read ? Error{} : read.error();
}

TEST(MemtoolFile, IsRefusedWhereverItIsCut) {
  const std::string bytes = WrittenBytes(Everything());
  for (std::size_t size = memtool_file::kMagic.size(); size < bytes.size(); ++size) {
    const Error error = Refused(bytes.substr(0, size));
    EXPECT_EQ(error.code, ErrorCode::kTruncated) << size << ": " << ToString(error);
    EXPECT_TRUE(error.offset.has_value()) << size;
  }
  EXPECT_THAT(ToString(Refused(bytes + "x")), HasSubstr("garbage after the last section"));
}

TEST(MemtoolFile, NoFlippedBitIsTakenForData) {
  const std::string bytes = WrittenBytes(Everything());
  for (std::size_t bit = 8 * memtool_file::kMagic.size(); bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Error error = Refused(flipped);
    EXPECT_TRUE(error.offset.has_value()) << bit << ": " << ToString(error);
  }
}

std::string Fixed(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  return bytes;
}
std::string Header(std::uint32_t version) {
  const std::string header = std::string(memtool_file::kMagic) + Fixed(version, 4);
  return header + Fixed(XXH3_64bits(header.data(), header.size()), 4);
}
std::string Section(std::uint32_t table, std::uint32_t rows, std::string_view columns) {
  const std::string section =
      Fixed(table, 4) + Fixed(rows, 4) + Fixed(columns.size(), 8) + std::string(columns);
  return section + Fixed(XXH3_64bits(section.data(), section.size()), 8);
}
// Column 1 of about, `format`: lengths (a constant 4), then text.
constexpr std::string_view kFormat = "\x01\x00\x04\x01\x0c\x00\x01\x04\x04made"sv;
std::string File(const std::vector<std::string>& sections) {
  std::string bytes = Header(1) + Section(1, 1, kFormat);
  for (const std::string& section : sections) {
    bytes += section;
  }
  return bytes + Section(0, static_cast<std::uint32_t>(sections.size() + 1), "");
}

TEST(MemtoolFile, CanBeMadeFromItsDescription) {
  // One string in a packed form of no zstd: varints and text.
  const auto read = ReadBack(File({Section(2, 2,
                                           "\x01\x04\x01\x01\x02\x02\x00\x01"
                                           "\x01\x0c\x00\x01\x03\x03"
                                           "abb"sv)}));
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(read->strings.size(), 3U);
  EXPECT_EQ(read->strings[StringId(1U)], "a");
  EXPECT_EQ(read->strings[StringId(2U)], "bb");
  EXPECT_EQ(read->metadata.format, "made");
}

TEST(MemtoolFile, NewerVersionsAreRefusedAndNewerPartsPassedOver) {
  const Error newer = Refused(Header(2) + "whatever");
  EXPECT_EQ(newer.code, ErrorCode::kUnsupported);
  EXPECT_THAT(ToString(newer), HasSubstr("version 2 of the container, written by a newer memtool"));
  const auto read =
      ReadBack(File({Section(900, 5, "\x01\x00\x04"sv), Section(4, 1, "\x63\x00\x04"sv)}));
  ASSERT_TRUE(read) << ToString(read.error());
  ASSERT_EQ(read->diagnostics.size(), 2U);
  EXPECT_THAT(read->diagnostics[0].message, HasSubstr("columns of functions"));
  EXPECT_THAT(read->diagnostics[1].message, HasSubstr("passed over: sections"));
}

// What checksums do not find, because somebody made it so.
TEST(MemtoolFile, RefusesWhatContradictsItself) {
  struct Case {
    std::string bytes;
    std::string_view message;
  };
  const std::vector<Case> cases{
      {Header(1) + Section(0, 0, ""), "about: is missing"},
      {Header(1) + Section(2, 1, ""), "the first section must be about"},
      {File({Section(4, 1, ""), Section(3, 1, "")}), "comes out of its order"},
      {File({Section(1, 1, kFormat)}), "comes out of its order"},
      {Header(1) + Section(1, 1, kFormat) + Section(0, 7, ""),
       "7 sections were written, and 1 are"},
      {Header(1) + Section(1, 2, kFormat), "there must be one"},
      {Header(1) + Section(1, 1, "\x0d\x00\x01\x0d\x0c\x00\x01\x01\x01?"sv), "is no way to split"},
      {File({Section(4, 1 << 21, "")}), "at most 1048576 are read"},
      {File({Section(2, 2, "")}), "string 1 is there twice"},
      {File({Section(4, 1, "\x01\x00\x02"sv)}), "functions.name: holds 2"},
      {File({Section(4, 1, "\x01\x20\x02"sv)}), "the unknown coding 32"},
      {File({Section(4, 1, "\x01\x03\x02"sv)}), "the unknown coding 3"},
      {File({Section(4, 2, "\x04\x04\x00\x01\x01\x01\x05"sv)}), "1 bytes for 2 values"},
      {File({Section(4, 2, "\x04\x04\x00\x01\x03\x03\x05\x05\x05"sv)}),
       "1 bytes after its last value"},
      {File({Section(4, 2, "\x04\x08\x00\x01\x03\x03\x05\x05\x05"sv)}), "3 bytes for 2 values"},
      {File({Section(4, 1, "\x04\x14\x00\x01\x01\x05xxxxx"sv)}), "cannot be unpacked"},
      {File({Section(4, 1, "\x04\x14\x00\x01\xff\xff\xff\xff\x7f\x01x"sv)}),
       "claims 34359738367 bytes in 1"},
      {File({Section(4, 1, "\x04\x04\x00\x01\x02\x01x"sv)}), "claims 2 bytes in 1"},
      {File({Section(2, 1,
                     "\x01\x00\x09\x01\x0c\x00\x01\x02\x02"
                     "ab"sv)}),
       "more bytes than are there"},
      {File({Section(6, 1, "\x01\x00\xff\xff\xff\x0f"sv)}), "more than 4194304 items"},
      {File({Section(6, 1, "\x01\x00\x02"sv)}), "a stack refers to location row"},
      {File({Section(21, 1, "\x01\x00\x0c"sv)}), "there is no kind 12"},
      {File({Section(21, 1, "\x01\x00\x10"sv)}), "refers to the event 0 back among 0"},
      {File({Section(4, 1, "\x02\x00\x00\x01\x00\x00"sv)}), "column 1 comes out of its order"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(ToString(Refused(one.bytes)), HasSubstr(one.message));
  }
}

// The builder would not make them: what is written is not what it checked.
TEST(MemtoolFile, IsCheckedAsAnyOtherInput) {
  const auto written = [](const std::function<void(Recording&)>& damage) {
    Recording recording = Everything();
    damage(recording);
    return WrittenBytes(std::move(recording));
  };
  const auto with_state = [&](const std::function<void(AllocatorState&)>& damage) {
    return written([&](Recording& recording) {
      AllocatorState state = *recording.state;
      damage(state);
      recording.state = std::make_shared<const AllocatorState>(std::move(state));
    });
  };
  EXPECT_THAT(ToString(Refused(with_state([](AllocatorState& s) { s.segments[0].size = -20; }))),
              HasSubstr("contradicts itself"));
  EXPECT_THAT(ToString(Refused(with_state([](AllocatorState& s) { s.blocks[2].size = 4; }))),
              HasSubstr("a block lies beyond its end"));
  EXPECT_THAT(ToString(Refused(with_state([](AllocatorState& s) { s.segments[0].active = 21; }))),
              HasSubstr("more of it is in use than it has"));
  const auto small = ReadBack(with_state([](AllocatorState& s) { s.blocks[0].requested = 13; }));
  ASSERT_TRUE(small) << ToString(small.error());
  EXPECT_EQ(small->state->blocks[0].requested, 12);
  EXPECT_EQ(small->diagnostics.back().code, "segments_with_small_blocks");
  const auto ledger = ReadBack(written([](Recording& recording) {
    History history = *recording.history;
    history.domains[0].capacity = -1;
    recording.history = std::make_shared<const History>(std::move(history));
  }));
  ASSERT_TRUE(ledger) << ToString(ledger.error());
  EXPECT_FALSE(ledger->history->domains[0].capacity.has_value());
}

// A few bytes that stand for gigabytes.
TEST(MemtoolFile, BombsAreRefused) {
  std::vector<std::string> sections;
  for (int i = 0; i < 200; ++i) {
    sections.push_back(Section(21, 1 << 20, ""));
  }
  OpenOptions options;
  options.limits.ratio_free_bytes = 1 << 20;
  const auto read = test::LoadBytes(test::ToBytes(File(sections)), options);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kLimit);
  EXPECT_THAT(ToString(read.error()), HasSubstr("times its size"));
}

TEST(MemtoolFile, IsRecognisedByItsFirstBytes) {
  const MemtoolReader reader;
  EXPECT_EQ(reader.Sniff(test::ToBytes("\x89memtool\x01")), Match::kCertain);
  EXPECT_EQ(reader.Sniff(test::ToBytes("\x89memtoo")), Match::kNo);
  EXPECT_EQ(reader.Sniff(test::ToBytes("")), Match::kNo);
  const auto bytes = test::ToBytes(WrittenBytes(Everything()));
  for (const Reader* other : Readers()) {
    EXPECT_EQ(other->Sniff(bytes), other->name() == "memtool" ? Match::kCertain : Match::kNo)
        << other->name();
  }
}

}  // namespace
}  // namespace memtool::formats
