#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "snapshot_text.h"
#include "support/files.h"

namespace memtool::tests {
namespace {

using ::testing::HasSubstr;

Recording Load(const std::string& name) {
  auto recording = formats::OpenRecording(CorpusFile("forms/" + name));
  if (!recording) {
    ADD_FAILURE() << ToString(recording.error());
    return {};
  }
  return *std::move(recording);
}

std::string Setting(const Recording& recording, const std::string& name) {
  for (const auto& setting : recording.settings) {
    if (setting.name == name) {
      return setting.value;
    }
  }
  return "(none)";
}

std::vector<std::string> DiagnosticCodes(const Recording& recording) {
  std::vector<std::string> codes;
  for (const Diagnostic& diagnostic : recording.diagnostics) {
    codes.push_back(diagnostic.code);
  }
  return codes;
}

TEST(TorchSnapshot, EveryFormSaysTheSame) {
  const std::string expected = Describe(Load("proto4.pickle"));
  EXPECT_THAT(expected, HasSubstr("forward:linear.py:5;step:train.py:20;main:train.py:10"));
  for (const char* form :
       {"proto2.pickle", "proto3.pickle", "proto5.pickle", "native.pickle", "snapshot.json",
        "indented.json", "later.json", "page.html", "page_at_once.html", "page_of_windows.html",
        "packed.pickle.gz", "zeros_after.pickle", "second_pickle.pickle"}) {
    EXPECT_EQ(Describe(Load(form)), expected) << form;
  }
  EXPECT_EQ(Describe(Load("list.pickle")), Describe(Load("list.json")));
}

TEST(TorchSnapshot, NativeWriterSaysTheSameInEverySchema) {
  for (const char* schema : {"1.13", "2.0", "2.1", "2.3", "2.5", "2.8", "2.10", "2.12"}) {
    const std::string name = std::string("schema_") + schema;
    EXPECT_EQ(Describe(Load(name + "_native.pickle")), Describe(Load(name + ".pickle"))) << schema;
  }
}

// Dicts of a known shape are read in one pass; the same file can be written so that none has one.
TEST(TorchSnapshot, ShapesOfDictsChangeNothing) {
  for (const char* form : {"proto2", "proto4", "native", "waves", "varied", "varied_native"}) {
    const std::string name = form;
    EXPECT_EQ(Describe(Load(name + ".pickle")), Describe(Load(name + "_unshaped.pickle"))) << form;
  }
  EXPECT_EQ(Describe(Load("varied_low.pickle")), Describe(Load("varied_native.pickle")));
}

TEST(TorchSnapshot, SchemaIsGuessedFromKeys) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kEras{{{"1.13", "1.12 to 2.0"},
                                                                      {"2.0", "2.0 or later"},
                                                                      {"2.1", "2.1 or later"},
                                                                      {"2.3", "2.3 or 2.4"},
                                                                      {"2.5", "2.5 to 2.7"},
                                                                      {"2.8", "2.8 or 2.9"},
                                                                      {"2.10", "schema of 2.10"},
                                                                      {"2.12", "2.12 or later"}}};
  for (const auto& [schema, era] : kEras) {
    EXPECT_THAT(Load(std::string("schema_") + schema + ".pickle").metadata.format_display,
                HasSubstr(era));
  }
  EXPECT_EQ(Load("native.pickle").metadata.format_display,
            "PyTorch CUDA snapshot (pickle protocol 2, schema of 2.11 or later)");
}

TEST(TorchSnapshot, EventsBecomeRows) {
  const Recording recording = Load("proto4.pickle");
  const History& history = *recording.history;
  ASSERT_EQ(history.events.size(), 10U);
  EXPECT_EQ(history.clock, Clock::kUnix);
  const Event& segment = history.events[0];
  EXPECT_EQ(segment.action, Action::kSegmentAlloc);
  EXPECT_EQ(segment.domain, history.traces[0].segments.value());
  const Event& alloc = history.events[1];
  EXPECT_EQ(alloc.key, 0x7f0000000000U);
  EXPECT_EQ(alloc.size, 1000);
  EXPECT_EQ(alloc.time, 1700000000000001000);
  EXPECT_EQ(alloc.domain, history.traces[0].blocks.value());
  EXPECT_EQ(alloc.stack, segment.stack);
  EXPECT_FALSE(history.events[3].stack.valid());  // an empty list
  EXPECT_FALSE(history.events[5].stack.valid());  // no frames key
  EXPECT_EQ(history.streams[history.events[2].stream], 7U);
  const Event& oom = history.events[8];
  EXPECT_EQ(oom.action, Action::kOom);
  EXPECT_EQ(oom.key, 12345U);
  EXPECT_EQ(oom.size, std::int64_t{1} << 40);
  EXPECT_EQ(history.events[9].action, Action::kMark);
}

TEST(TorchSnapshot, LabelsOnlyWhereNotDefault) {
  const Recording recording = Load("proto4.pickle");
  EXPECT_EQ(LabelText(recording, 0), "");
  EXPECT_EQ(LabelText(recording, 2), "");  // the stream is a column of its own
  EXPECT_EQ(LabelText(recording, 3), "compile_context=0/1");
  EXPECT_EQ(LabelText(recording, 6), "user_metadata=step:1 pool=(0, 1)");
  EXPECT_EQ(Load("schema_2.10.pickle").history->labels.size(), 10U);
  EXPECT_TRUE(Load("schema_2.1.pickle").history->labels.empty());  // streams only
  EXPECT_TRUE(Load("batches.pickle").history->labels.empty());
}

TEST(TorchSnapshot, MetadataMayBeADict) {
  const Recording recording = Load("metadata_dicts.pickle");
  ASSERT_EQ(recording.history->events.size(), 10U);
  EXPECT_EQ(LabelText(recording, 2), "user_metadata=step=3, names.0=a, names.1=b");
  EXPECT_EQ(recording.history->events[1].size, 1000);
}

class TorchBlocks : public testing::TestWithParam<const char*> {};

TEST_P(TorchBlocks, KnowWhatWasRequested) {
  const Recording recording = Load(GetParam());
  const AllocatorState& state = *recording.state;
  ASSERT_EQ(state.blocks.size(), 5U);
  EXPECT_EQ(state.blocks[0].requested, 1000);
  EXPECT_EQ(state.blocks[1].requested, 0) << "an inactive block's is left over";
  EXPECT_EQ(state.blocks[2].address, 0x7f0000000000U + 1536);
  EXPECT_EQ(state.blocks[3].state, BlockState::kPendingFree);
  EXPECT_EQ(state.blocks[4].requested, 0);
  EXPECT_EQ(StackText(recording, state.blocks[2].stack),
            "c10::alloc<std::array<int, 2>[]>(char const*):??:0;main:train.py:10");
  EXPECT_TRUE(recording.diagnostics.empty());
}

INSTANTIATE_TEST_SUITE_P(Schemas, TorchBlocks,
                         testing::Values("schema_2.0.pickle", "schema_1.13.pickle",
                                         "proto4.pickle"));

TEST(TorchSnapshot, AnnotationsNeedNotNest) {
  const std::vector<Mark> marks = Load("schema_2.5.pickle").history->marks;
  ASSERT_EQ(marks.size(), 5U);
  EXPECT_EQ(marks[0].name, "snapshot");
  EXPECT_EQ(marks[1].name, "forward");
  EXPECT_EQ(marks[1].end - marks[1].begin, 2000);
  EXPECT_EQ(marks[2].name, "step");
  EXPECT_EQ(marks[2].end, kNoTime);
  EXPECT_EQ(marks[3].end, kNoTime);
  EXPECT_EQ(marks[4].begin, kNoTime);
}

TEST(TorchSnapshot, SettingsAreFlat) {
  const Recording recording = Load("schema_2.12.pickle");
  EXPECT_EQ(Setting(recording, "PYTORCH_CUDA_ALLOC_CONF"), "max_split_size_mb:64");
  EXPECT_EQ(Setting(recording, "max_split_size"), "-1");
  EXPECT_EQ(Setting(recording, "garbage_collection_threshold"), "0.5");
  EXPECT_EQ(Setting(recording, "expandable_segments"), "false");
  EXPECT_EQ(Setting(recording, "roundup_power2_divisions.2"), "4");
}

TEST(TorchSnapshot, PinnedHostMemoryIsATraceOfItsOwn) {
  const Recording recording = Load("schema_2.12.pickle");
  const History& history = *recording.history;
  ASSERT_EQ(history.traces.size(), 2U);
  EXPECT_TRUE(history.traces[0].overflowed);
  const Trace& host = history.traces[1];
  EXPECT_EQ(host.device, -1);
  EXPECT_EQ(host.event_count, 1U);
  EXPECT_EQ(history.domains[host.blocks.value()].kind, DomainKind::kPinned);
  EXPECT_EQ(history.domains[host.blocks.value()].parent, host.segments);
  EXPECT_EQ(history.events[host.first_event].domain, host.blocks.value());
  EXPECT_TRUE(recording.state->segments.back().host);
  EXPECT_THAT(DiagnosticCodes(recording),
              ::testing::ElementsAre("unknown_action", "unknown_key", "unknown_key"));
}

class TorchDevices : public testing::TestWithParam<std::size_t> {};

TEST_P(TorchDevices, HaveTheirOwnTraces) {
  const Recording recording = Load("three_devices.pickle");
  const History& history = *recording.history;
  ASSERT_EQ(history.traces.size(), 3U);
  const Trace& trace = history.traces[GetParam()];
  EXPECT_EQ(trace.device, static_cast<int>(GetParam()));
  EXPECT_EQ(trace.first_event, 10 * GetParam());
  EXPECT_EQ(history.events[trace.first_event].domain, trace.segments.value());
  EXPECT_EQ(history.events[trace.first_event + 1].domain, trace.blocks.value());
}

INSTANTIATE_TEST_SUITE_P(All, TorchDevices, testing::Values(0, 1, 2));

// PyTorch writes -1, for code without a line, as an unsigned number of 64 bits.
TEST(TorchSnapshot, CodeWithoutALineIsRead) {
  for (const char* line : {"18446744073709551615", "-1", "0"}) {
    const std::string text =
        std::string(R"({"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, )") +
        R"("size": 512, "stream": 0, "frames": [{"name": "f", "filename": "fake.py", "line": )" +
        line + "}]}]]}";
    const auto recording = test::LoadBytes(test::ToBytes(text));
    ASSERT_TRUE(recording) << line << ": " << ToString(recording.error());
    ASSERT_EQ(recording->lines.size(), 1U);
    EXPECT_EQ(recording->lines[0].line, 0) << line;
  }
}

TEST(TorchSnapshot, LongListsComeInBatches) {
  const Recording recording = Load("batches.pickle");
  ASSERT_EQ(recording.history->events.size(), 2501U);
  EXPECT_EQ(recording.history->events[2500].key, 2500U);
  EXPECT_EQ(recording.Stack(recording.history->events[7].stack).size(), 1001U);
  EXPECT_EQ(recording.history->events[7].stack, recording.history->events[2500].stack);
}

TEST(TorchSnapshot, SmallOnesWork) {
  EXPECT_EQ(Load("one_event.pickle").history->events.size(), 1U);
  EXPECT_EQ(Load("high_address.pickle").history->events[0].key, ~std::uint64_t{0} - 4095);
  EXPECT_THAT(DiagnosticCodes(Load("empty.pickle")), ::testing::ElementsAre("empty_snapshot"));
}

TEST(TorchSnapshot, DamageIsNoted) {
  EXPECT_THAT(DiagnosticCodes(Load("blocks_missing.pickle")),
              ::testing::ElementsAre("blocks_do_not_fill_segment"));
  EXPECT_THAT(DiagnosticCodes(Load("device_9.pickle")),
              ::testing::ElementsAre("device_without_trace"));
  EXPECT_THAT(DiagnosticCodes(Load("second_pickle.pickle")),
              ::testing::ElementsAre("bytes_after_end"));
  EXPECT_TRUE(Load("zeros_after.pickle").diagnostics.empty());
}

Recording Fresh(const std::string& name) {
  auto recording = LoadText(ReadWhole((test::TestFolder("torch/fresh") / name).string()));
  EXPECT_TRUE(recording) << ToString(recording.error());
  return *std::move(recording);
}

TEST(TorchSnapshot, AnAnnotationIsOfTheBlockThatLivesThere) {
  const Recording recording = Fresh("annotated.json");
  const History& history = *recording.history;
  ASSERT_EQ(history.events.size(), 12U);
  EXPECT_EQ(history.events[2].action, Action::kAnnotate);
  EXPECT_EQ(LabelText(recording, 1),
            "user_metadata.layer=fc1 user_metadata.step=3 user_metadata.frozen=false "
            "annotation=weight");
  EXPECT_EQ(LabelText(recording, 2), "user_metadata=weight");
  EXPECT_EQ(LabelText(recording, 3), "annotation=saved for backward annotation=relu");
  EXPECT_EQ(LabelText(recording, 6), "user_metadata={not JSON internal_metadata=prefix block");
  EXPECT_EQ(LabelText(recording, 11), "") << "the address again, another block";
  EXPECT_TRUE(recording.diagnostics.empty());
}

TEST(TorchSnapshot, WithoutCompletionsARequestIsTheFree) {
  const Recording recording = Fresh("requests.json");
  const auto& events = recording.history->events;
  EXPECT_EQ(events[3].action, Action::kFreeCompleted);
  EXPECT_EQ(events[5].action, Action::kFreeCompleted);
  EXPECT_EQ(events[7].action, Action::kFreeRequested) << "it waits at the end";
  EXPECT_THAT(DiagnosticCodes(recording), ::testing::ElementsAre("frees_without_completion"));
}

TEST(TorchSnapshot, OtherDevicesHaveTheirNames) {
  EXPECT_EQ(Fresh("xpu.json").metadata.format_display, "PyTorch XPU snapshot (JSON)");
  EXPECT_EQ(Fresh("npu.json").metadata.format_display, "PyTorch NPU snapshot (JSON)");
  EXPECT_EQ(Fresh("npu.json").metadata.origin.platform, "NPU");
  EXPECT_EQ(Fresh("annotated.json").metadata.origin.platform, "");
}

TEST(TorchSnapshot, HostMemoryIsOfNoDevice) {
  const Recording recording = Fresh("host.json");
  ASSERT_EQ(recording.state->segments.size(), 2U);
  EXPECT_TRUE(recording.state->segments[1].host);
  EXPECT_THAT(DiagnosticCodes(recording), ::testing::ElementsAre("settings_conflict"));
  EXPECT_FALSE(LoadText(R"({"segments":[{"device":-1,"address":0,"total_size":0,"blocks":[]}]})"));
}

TEST(TorchSnapshot, IsRecognisedForCertain) {
  for (const char* name : {"proto2.pickle", "proto4.pickle", "native.pickle", "list.pickle",
                           "snapshot.json", "list.json", "page.html", "packed.pickle.gz"}) {
    EXPECT_NE(formats::CertainReader(CorpusFile(std::string("forms/") + name)), nullptr) << name;
  }
  EXPECT_EQ(formats::CertainReader(CorpusFile("malformed/global.pickle")), nullptr);
}

}  // namespace
}  // namespace memtool::tests
