#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hlo/hlo_history.h"
#include "hlo/hlo_program.h"
#include "hlo/hlo_reader.h"
#include "hlo/shape.h"
#include "memtool/formats/byte_window.h"
#include "memtool/profile/select/at_moment.h"
#include "pprof/pprof_reader.h"
#include "support/files.h"
#include "support/read_error.h"

namespace memtool::formats {
namespace {

using hlo::HeapKind;

std::string Varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7U) {
    text += static_cast<char>((value & 0x7fU) | 0x80U);
  }
  return text + static_cast<char>(value);
}
std::string Int(std::uint64_t number, std::uint64_t value) {
  return Varint(number << 3U) + Varint(value);
}
std::string Part(std::uint64_t number, const std::string& bytes) {
  return Varint(number << 3U | 2U) + Varint(bytes.size()) + bytes;
}

std::string Array(std::uint64_t type, const std::vector<std::uint64_t>& dimensions, bool packed) {
  std::string all;
  std::string one_by_one;
  for (const std::uint64_t dimension : dimensions) {
    all += Varint(dimension);
    one_by_one += Int(3, dimension);
  }
  return Int(2, type) + (packed ? Part(3, all) : one_by_one);
}
std::string ReadInstruction(std::uint64_t id, const std::string& name, const std::string& opcode,
                            const std::string& shape, const std::string& metadata) {
  return Part(2,
              Part(1, name) + Part(2, opcode) + Part(3, shape) + Part(7, metadata) + Int(35, id));
}
// `defined` is what follows the buffer's size: field 3.
std::string MakeBuffer(std::uint64_t id, std::uint64_t size, const std::string& defined) {
  return Part(1, (id == 0 ? std::string() : Int(1, id)) + Int(2, size) + Part(3, defined));
}
std::string Assigned(std::uint64_t id, std::uint64_t offset, std::uint64_t size) {
  return Part(9, Int(1, id) + Int(2, offset) + Int(3, size));
}
std::string Step(HeapKind kind, std::uint64_t id, std::uint64_t shared = 0) {
  return Part(1, Int(1, static_cast<std::uint64_t>(kind)) + (id == 0 ? std::string() : Int(2, id)) +
                     (kind == HeapKind::kShareWith ? Int(5, shared) : std::string()));
}

// One parameter of 16 bytes, and a heap of 64:
//
//   buffer  bytes  offset  defined by
//   0       32     0       dot, bf16[10], model.py:7   12 of padding
//   1       8      32      add, element 1 of (s8[3], f32[2])
//   2       24     0       exp, a stack of frames
//   3       8      32      neg, in the memory of 1
constexpr std::uint64_t kBig = 5ULL << 32U;  // a computation's number above, as in 2026
std::string Module() {
  const std::string index = Part(1, "model.py") + Part(1, "train.py") + Part(2, "layer") +
                            Part(2, "main") + Part(3, Int(1, 1) + Int(2, 1) + Int(3, 12)) +
                            Part(3, Int(1, 2) + Int(2, 2) + Int(3, 80)) + Part(4, Int(1, 2)) +
                            Part(4, Int(1, 1) + Int(2, 1));
  const std::string op = "jit(f)/jit(main)/";
  return Part(
      1, Part(1, "jit_f") + Part(2, "main.1") +
             Part(3, Part(1, "main.1") +
                         ReadInstruction(kBig | 1U, "p0", "parameter", Array(11, {4}, true),
                                         Part(2, "params['w']")) +
                         ReadInstruction(
                             kBig | 2U, "dot.1", "dot", Array(16, {10}, false),
                             Part(2, op + "dot_general") + Part(3, "model.py") + Int(4, 7)) +
                         ReadInstruction(kBig | 3U, "add.1", "add",
                                         Int(2, 13) + Part(4, Array(2, {3}, true)) +
                                             Part(4, Array(11, {2}, true)),
                                         Part(2, op + "add")) +
                         ReadInstruction(kBig | 4U, "exp.1", "exponential", Array(11, {2, 3}, true),
                                         Part(2, op + "exp") + Int(15, 2)) +
                         ReadInstruction(kBig | 5U, "neg.1", "negate", Array(11, {2}, true), {})) +
             Part(17, index));
}
std::string Program(const std::string& heap) {
  const std::string buffers = MakeBuffer(0, 32, Int(4, kBig | 2U)) +
                              MakeBuffer(1, 8, Part(3, Varint(1)) + Int(4, kBig | 3U)) +
                              MakeBuffer(2, 24, Int(4, kBig | 4U)) +
                              MakeBuffer(3, 8, Int(4, kBig | 5U)) +
                              MakeBuffer(4, 16, Int(4, kBig | 1U));
  const std::string allocations =
      Part(3, Int(1, 0) + Int(2, 16) + Int(5, 1) + Int(7, 1) + Assigned(4, 0, 16)) +
      Part(3, Int(1, 1) + Int(2, 64) + Assigned(0, 0, 32) + Assigned(1, 32, 8) +
                  Assigned(2, 0, 24) + Assigned(3, 32, 8));
  return Module() + Part(3, buffers + allocations + Part(4, heap));
}
const std::string& Heap() {
  // in use: 32, 40 (the peak), 40, 40, 8, 32, 24, 0
  static const std::string heap = Step(HeapKind::kAlloc, 0) + Step(HeapKind::kAlloc, 1) +
                                  Step(HeapKind::kShareWith, 3, 1) + Step(HeapKind::kFree, 1) +
                                  Step(HeapKind::kFree, 0) + Step(HeapKind::kAlloc, 2) +
                                  Step(HeapKind::kFree, 3) + Step(HeapKind::kFree, 2);
  return heap;
}

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}
hlo::HloProgram Decode(const std::string& bytes) {
  return hlo::ReadHloProto(ByteCursor(AsBytes(bytes), 0));
}
Result<Recording> ReadProgram(const std::string& bytes) {
  ByteWindow window(MakeMemorySource(AsBytes(bytes)));
  return HloReader().Read(window, {});
}

TEST(HloProgram, NamesItsBuffers) {
  const hlo::HloProgram program = Decode(Program(Heap()));
  EXPECT_EQ(program.module, "jit_f");
  ASSERT_EQ(program.allocations.size(), 2U);
  EXPECT_EQ(program.allocations[0].category, hlo::Category::kParameter);  // though it is an output
  EXPECT_TRUE(program.allocations[0].live_out);
  EXPECT_EQ(program.Total(hlo::Category::kTemporary), 64);
  EXPECT_EQ(program.Total(), 80);
  ASSERT_EQ(program.buffers.size(), 5U);
  EXPECT_EQ(program.buffers[0].shape, "bf16[10]");
  EXPECT_EQ(program.buffers[0].padding(), 12);
  EXPECT_EQ(program.buffers[1].shape, "f32[2]");
  EXPECT_EQ(program.buffers[2].shape, "f32[2,3]");
  EXPECT_EQ(program.buffers[3].offset, 32);
  const hlo::Instruction& dot = program.instructions[program.buffers[0].instruction];
  ASSERT_EQ(dot.frames.size(), 1U);
  EXPECT_EQ(dot.frames[0].line, 7);
  const hlo::Instruction& exp = program.instructions[program.buffers[2].instruction];
  ASSERT_EQ(exp.frames.size(), 2U);  // innermost first
  EXPECT_EQ(exp.frames[0].function, "layer");
  EXPECT_EQ(exp.frames[1].file, "train.py");
  EXPECT_EQ(
      program.damage.unknown_buffers + program.damage.unknown_instructions + program.damage.outside,
      0U);
}

TEST(HloProgram, PeakCountsSharedMemoryOnce) {
  const hlo::HloProgram program = Decode(Program(Heap()));
  ASSERT_EQ(program.traces.size(), 1U);
  EXPECT_EQ(program.traces[0].allocation, 1U);
  const hlo::HeapPeak peak = hlo::FindPeak(program, program.traces[0]);
  EXPECT_EQ(peak.bytes, 40);
  EXPECT_EQ(peak.point, 2U);
  ASSERT_EQ(peak.live.size(), 2U);
  EXPECT_EQ(peak.live[0].buffer, 0U);
  EXPECT_EQ(peak.live[1].buffer, 1U);
  EXPECT_EQ(hlo::BuffersAtPeak(program, 1).size(), 2U);
  const hlo::HeapReplay replay = hlo::Replay(program, program.traces[0]);
  ASSERT_EQ(replay.steps.size(), 6U);  // neither the sharing nor the first free changes anything
  EXPECT_EQ(replay.steps[4].owner, 1U);
  EXPECT_EQ(replay.steps[4].user, 3U);
}

TEST(HloProgram, SharingTakesMemoryAgainThatWasFree) {
  const hlo::HloProgram program =
      Decode(Program(Step(HeapKind::kAlloc, 1) + Step(HeapKind::kFree, 1) +
                     Step(HeapKind::kShareWith, 3, 1) + Step(HeapKind::kAlloc, 0)));
  const hlo::HeapPeak peak = hlo::FindPeak(program, program.traces[0]);
  EXPECT_EQ(peak.bytes, 40);
  EXPECT_EQ(peak.point, 4U);
  ASSERT_EQ(peak.live.size(), 2U);
  EXPECT_EQ(peak.live[1].buffer, 1U);
  EXPECT_EQ(peak.live[1].user, 3U);
}

TEST(HloProgram, CirclesAndFreesOfNothingAreCounted) {
  const hlo::HloProgram program = Decode(Program(
      Step(HeapKind::kShareWith, 3, 1) + Step(HeapKind::kShareWith, 1, 3) +
      Step(HeapKind::kShareWith, 3, 3) + Step(HeapKind::kFree, 2) + Step(HeapKind::kAlloc, 99)));
  EXPECT_EQ(program.damage.unknown_buffers, 1U);
  const hlo::HeapReplay replay = hlo::Replay(program, program.traces[0]);
  EXPECT_EQ(replay.free_without_alloc, 1U);
  EXPECT_EQ(replay.taken_twice, 1U);
  EXPECT_EQ(hlo::FindPeak(program, program.traces[0]).bytes, 8);
}

TEST(HloProgram, WithoutATraceTheLargestOfAPlaceStandsForIt) {
  const hlo::HloProgram program = Decode(Program({}));
  EXPECT_TRUE(program.traces.empty());
  const std::vector<hlo::LiveBuffer> live = hlo::BuffersAtPeak(program, 1);
  ASSERT_EQ(live.size(), 2U);
  EXPECT_EQ(live[0].buffer, 0U);
  EXPECT_EQ(live[1].buffer, 1U);
}

TEST(HloProgram, RefusesSizesThatAreNone) {
  EXPECT_THROW(Decode(Part(3, Part(3, Int(2, UINT64_MAX)))), ReadError);
  EXPECT_THROW(Decode(Part(3, Part(1, Int(2, 1ULL << 63U)))), ReadError);
}

TEST(HloProgram, ShapesAsDeepAsTheFile) {
  std::string shape = Array(11, {2}, true);
  std::vector<std::uint64_t> index;
  for (int i = 0; i < 2000; ++i) {
    shape = Int(2, 13) + Part(4, shape);
    index.push_back(0);
  }
  hlo::ShapeReader reader(ByteCursor(AsBytes(shape), 0));
  EXPECT_EQ(reader.At(index).text, "f32[2]");
  EXPECT_EQ(reader.At({}).text, "(1 parts)");
  index.push_back(0);
  EXPECT_EQ(reader.At(index).text, "");
}

TEST(HloProgram, DimensionsThatOverflowHaveNoSize) {
  const std::vector<std::int64_t> large{INT64_MAX, 4};
  EXPECT_FALSE(hlo::ArrayShape(11, large).unpadded.has_value());
  const std::vector<std::int64_t> nibbles{3};
  EXPECT_EQ(hlo::ArrayShape(21, nibbles).unpadded, 2);  // s4: a byte and a half
  EXPECT_EQ(hlo::ArrayShape(999, nibbles).text, "");
}

TEST(HloReader, IsSureOfAModuleAndOfNothingElse) {
  const std::string bytes = Program(Heap());
  EXPECT_EQ(HloReader().Sniff(AsBytes(bytes)), Match::kCertain);
  EXPECT_EQ(PprofReader().Sniff(AsBytes(bytes)), Match::kNo);
  EXPECT_EQ(HloReader().Sniff(AsBytes(bytes).first(60)), Match::kCertain);
  const std::string profile = Part(1, Int(1, 1) + Int(2, 2)) + Part(6, "");
  EXPECT_EQ(HloReader().Sniff(AsBytes(profile)), Match::kNo);
  const std::string trace = Part(1, Int(1, 1) + Part(2, "/host:CPU"));
  EXPECT_EQ(HloReader().Sniff(AsBytes(trace)), Match::kNo);
  EXPECT_EQ(HloReader().Sniff({}), Match::kNo);
}

// The innermost frame of every sample with its bytes.
std::map<std::string, std::int64_t> Live(const Recording& recording) {
  std::map<std::string, std::int64_t> live;
  for (std::size_t i = 0; i < recording.profile->size(); ++i) {
    const Line& line =
        recording.Lines(recording.At(recording.Stack(recording.profile->stacks[i])[0]))[0];
    live[std::string(recording.Text(recording.functions[line.function.value()].name))] +=
        recording.profile->values[1][i];
  }
  return live;
}

TEST(HloReader, ThePeakIsAMoment) {
  Result<Recording> read = ReadProgram(Program(Heap()));
  ASSERT_TRUE(read.has_value());
  const auto recording = std::make_shared<const Recording>(std::move(*read));
  ASSERT_EQ(recording->history->traces.size(), 1U);
  EXPECT_EQ(recording->history->traces[0].listed_before, 1U);
  EXPECT_EQ(recording->history->domains[0].name, "HBM");
  const HistoryIndex index(recording);
  const auto peak = AtMoment(index, *ParseMoment("peak"), {});
  ASSERT_TRUE(peak.has_value());
  const std::map<std::string, std::int64_t> wanted{
      {"params['w']", 16}, {"dot_general", 32}, {"add", 8}};
  EXPECT_EQ(Live(*peak->recording), wanted);
  const auto start = AtMoment(index, *ParseMoment("start"), {});
  ASSERT_TRUE(start.has_value());
  const std::map<std::string, std::int64_t> parameters{{"params['w']", 16}};
  EXPECT_EQ(Live(*start->recording), parameters);
}

// The sums to check: parameter + temporary = total, and the heap's peak fits into the latter.
TEST(HloReader, SaysItsSums) {
  const Result<Recording> read = ReadProgram(Program(Heap()));
  ASSERT_TRUE(read.has_value());
  std::map<std::string, std::string> settings;
  for (const Setting& setting : read->settings) {
    settings[setting.name] = setting.value;
  }
  EXPECT_EQ(settings["module"], "jit_f");
  EXPECT_EQ(settings["parameter bytes"], "16");
  EXPECT_EQ(settings["temporary bytes"], "64");
  EXPECT_EQ(settings["total bytes"], "80");
  EXPECT_EQ(settings["HBM heap peak bytes"], "40");
  EXPECT_EQ(settings["HBM heap peak point"], "2 of 8");
  EXPECT_TRUE(read->diagnostics.empty());
}

TEST(HloReader, StacksAreScopesAndCode) {
  const Result<Recording> read = ReadProgram(Program(Heap()));
  ASSERT_TRUE(read.has_value());
  std::vector<std::string> frames;
  for (const LocationId location : read->Stack(read->history->events[4].stack)) {
    const Line& line = read->Lines(read->At(location))[0];
    const Function& function = read->functions[line.function.value()];
    frames.push_back(std::string(read->Text(function.name)) + " " +
                     std::string(read->Text(function.filename)));
  }
  const std::vector<std::string> wanted{"exp model.py", "layer model.py", "main train.py",
                                        "jit(main) ", "jit(f) "};
  EXPECT_EQ(frames, wanted);
}

TEST(HloReader, RefusesAProgramWithoutBuffers) {
  EXPECT_THROW((void)ReadProgram(Module()), ReadError);
  for (std::size_t size = 1; size < Program(Heap()).size(); ++size) {
    const std::string cut = Program(Heap()).substr(0, size);
    EXPECT_THROW((void)ReadProgram(cut), ReadError) << size;
  }
}

// jit_forward_3d_conv of a JAX trace; its figures were added up by another decoder.
TEST(HloReader, ReadsARealProgram) {
  const auto folder = test::ReferenceFolder("hlo");
  if (!folder) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  const test::Bytes bytes =
      test::ReadFile(*folder / "tracelens_jit_forward_3d_conv_15.hlo_proto.pb");
  EXPECT_EQ(HloReader().Sniff(bytes), Match::kCertain);
  EXPECT_EQ(PprofReader().Sniff(bytes), Match::kNo);
  const hlo::HloProgram program = hlo::ReadHloProto(ByteCursor(bytes, 0));
  EXPECT_EQ(program.Total(hlo::Category::kParameter), 7045120);
  EXPECT_EQ(program.Total(hlo::Category::kOutput), 572026880);
  EXPECT_EQ(program.Total(hlo::Category::kTemporary), 579072128);
  EXPECT_EQ(program.Total(), 1158144128);
  ASSERT_EQ(program.traces.size(), 1U);
  const hlo::HeapPeak peak = hlo::FindPeak(program, program.traces[0]);
  EXPECT_EQ(peak.bytes, 579072000);
  EXPECT_EQ(peak.point, 3U);
  ASSERT_EQ(peak.live.size(), 3U);
  const hlo::Buffer& largest = program.buffers[peak.live[0].buffer];
  EXPECT_EQ(largest.shape, "bf16[1,5120,34,31,53]");
  EXPECT_EQ(largest.offset, 128);
  const hlo::Instruction& conv = program.instructions[largest.instruction];
  ASSERT_FALSE(conv.frames.empty());
  EXPECT_EQ(conv.frames[0].function, "forward_3d_conv");
  EXPECT_EQ(conv.frames[0].line, 77);
  ByteWindow window(MakeMemorySource(bytes));
  const Result<Recording> read = HloReader().Read(window, {});
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->diagnostics.empty());
}

// Whatever a byte becomes, a program or an error comes out, and the heap's sums hold.
TEST(HloReader, SurvivesEveryFlippedByte) {
  const std::string whole = Program(Heap());
  std::size_t read = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ flip);
      try {
        const Result<Recording> recording = ReadProgram(bytes);
        ASSERT_TRUE(recording.has_value()) << at << ": " << recording.error().message;
        ++read;
      } catch (const ReadError&) {
        continue;
      }
    }
  }
  EXPECT_GT(read, whole.size() / 2);  // names and numbers that are only others
}

}  // namespace
}  // namespace memtool::formats
