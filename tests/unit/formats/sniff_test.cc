#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "memtool/formats/reader.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

namespace fs = std::filesystem;
using test::Bytes;
using test::LoadBytes;
using test::ToBytes;

std::string WhatIs(std::string_view text) {
  const auto bytes = ToBytes(text);
  const KnownFormat* known = RecognizeUnread(bytes);
  return known == nullptr ? "" : std::string(known->what);
}

TEST(RecognizeUnread, NamesWhatItCannotRead) {
  using namespace std::string_view_literals;
  EXPECT_EQ(WhatIs("heap profile: 1: 2 [ 3: 4] @ heap_v2/524288\n"),
            "a heap profile in the legacy text form");
  EXPECT_EQ(WhatIs("goroutine profile: total 7\n"), "a Go count profile in the legacy text form");
  EXPECT_EQ(WhatIs("--- contentionz 1 ---\n"), "a contention profile in the legacy text form");
  EXPECT_EQ(WhatIs("--- threadz 1 ---\n"), "a thread profile in the legacy text form");
  EXPECT_EQ(WhatIs("\0\0\0\0\3\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0"sv),
            "a CPU profile in the legacy binary form");
  EXPECT_EQ(WhatIs("\0\0\0\0\0\0\0\3\0\0\0\0\0\0\x27\x10\0\0\0\0"sv),
            "a CPU profile in the legacy binary form");
  EXPECT_EQ(WhatIs("SQLite format 3\0"sv), "a SQLite database, such as an Nsight Systems export");
  EXPECT_EQ(WhatIs("PK\x03\x04...."), "a zip archive");
  // What torch.save() writes: the name of the first entry, 16 bytes, stands behind 30 of header.
  const std::string checkpoint = std::string("PK\x03\x04") + std::string(22, '\0') +
                                 std::string("\x10\0\0\0", 4) + "archive/data.pkl";
  EXPECT_EQ(WhatIs(checkpoint), "a PyTorch checkpoint (.pt, .pth)");
  EXPECT_EQ(WhatIs(checkpoint.substr(0, 40)), "a zip archive");
  EXPECT_EQ(WhatIs("\x7f"
                   "ELF\2\1\1"),
            "a program or library");
  EXPECT_EQ(WhatIs("<!DOCTYPE html><html>"), "an HTML page");
  EXPECT_EQ(WhatIs("\n\n<!doctype HTML><html>"), "an HTML page");
  EXPECT_EQ(WhatIs("\xEF\xBB\xBF\r\n<HTML lang=en>"), "an HTML page");
  EXPECT_EQ(WhatIs("digraph \"x\" {}"), "a Graphviz graph");
  EXPECT_EQ(WhatIs("{\"traceEvents\": []}"), "a Chrome trace without memory events");
  EXPECT_EQ(WhatIs("  {\"a\": 1}"), "unrecognised JSON");
  EXPECT_EQ(WhatIs("[1, 2]"), "unrecognised JSON");
  EXPECT_EQ(WhatIs("{\"a\": 1}\n{\"a\": 2}\n"), "unrecognised JSON");
  EXPECT_EQ(WhatIs("[\"" + std::string(100, 'a')), "unrecognised JSON");  // cut off
  for (const char* line : {"[2026-11-27 10:00:00] step 1\n", "[1] step\n", "[rank0]: step\n",
                           "[torch_memory_saver.cpp] out of memory\n", "{'a': 1}\n"}) {
    EXPECT_EQ(WhatIs(line), "unrecognised text") << line;
  }
  EXPECT_EQ(WhatIs("HloLiveRange (max 5):\n  InstructionSequence:\n"),
            "a program of XLA as text, without the places of its buffers");
  EXPECT_EQ(WhatIs("hello, world\n"), "unrecognised text");
  EXPECT_EQ(WhatIs("\x01\x02\x03\x04"sv), "");
}

TEST(RecognizeUnread, NamesWhatOtherToolsWrite) {
  using namespace std::string_view_literals;
  EXPECT_EQ(WhatIs("heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n"), "a heap profile of jemalloc");
  EXPECT_EQ(WhatIs("NVIDIA Tegra Profiler Report 1.\n\x0bLocal (CLI)\x12\x0a"sv),
            "an Nsight Systems report (.nsys-rep)");
  // {('<stdin>', 1, 'f'): ...} as marshal of Python 3 writes it, with marks for what is referred
  // to again or without, and as Python 2 did.
  EXPECT_EQ(WhatIs("\xfb\x29\x03\xda\x07<stdin>\xe9\x01\0\0\0\xda\x01"
                   "f"sv),
            "a CPU profile of Python's cProfile");
  EXPECT_EQ(WhatIs("{\xa9\x03z\x07<stdin>i\x01\0\0\0Z\x01"
                   "f"sv),
            "a CPU profile of Python's cProfile");
  EXPECT_EQ(WhatIs("{(\x03\0\0\0s\x07\0\0\0<stdin>i\x01\0\0\0"sv),
            "a CPU profile of Python's cProfile");
  EXPECT_EQ(WhatIs("PERFILE2\x68\0\0\0"sv), "a recording of perf");
  EXPECT_EQ(WhatIs("memray\0\x0b\0\0\0"sv), "a recording of memray");
  EXPECT_EQ(WhatIs("desc: (none)\ncmd: ./train\ntime_unit: i\n"),
            "a heap profile of Valgrind's massif");
  EXPECT_EQ(WhatIs("desc: what I tried\n"), "unrecognised text");
}

TEST(RecognizeUnread, NamesWhatXprofShows) {
  const char* const viewer = "what xprof's memory viewer shows of a program";
  EXPECT_EQ(WhatIs("{\n  \"bySizeToMaxHeap\": [1, 2]"), viewer);
  EXPECT_EQ(WhatIs("{\"heapSizes\": [0.5, 1.5]"), viewer);
  const char* const trace = "what xprof shows of a trace";
  EXPECT_EQ(WhatIs("[{\"cols\": [{\"id\": \"rank\"}], \"rows\": []}]"), trace);
  EXPECT_EQ(WhatIs("{\"byCategory\": {}, \"byProgram\": {}}"), trace);
  EXPECT_EQ(WhatIs("{\"a\": 1, \"cols\": []}"), "unrecognised JSON");
}

// Words of JAX do not make a program of XLA: only its fields do.
TEST(RecognizeUnread, TakesNoTextForXla) {
  using namespace std::string_view_literals;
  const char* const xla = "an XLA trace or HLO module";
  EXPECT_EQ(WhatIs("\nstep jit_fwd done\nall good\n"), "unrecognised text");
  EXPECT_EQ(WhatIs("\n\x1b[31mTraceback\x1b[0m in jit_step, /device:GPU:0\n"), "unrecognised text");
  EXPECT_EQ(WhatIs("\x0a\x10\x12\x0ejit_train_step\x12\x02\x08\x01"sv), xla);
  // A field that goes on behind the head.
  EXPECT_EQ(WhatIs("\x0a\xff\xff\x03\x12\x0djit_train_step"sv), xla);
}

TEST(RecognizeName, GoesByTheEnd) {
  EXPECT_NE(RecognizeName("a/report1.nsys-rep"), nullptr);
  EXPECT_NE(RecognizeName("old.qdrep"), nullptr);
  EXPECT_EQ(RecognizeName("nsys-rep/a.bin"), nullptr);
}

Match Sniff(std::span<const std::byte> bytes) {
  return Readers().front()->Sniff(bytes);
}

TEST(PprofSniff, KnowsItsFilesWhateverTheirOrder) {
  for (const char* name : {"packed.pb", "unpacked.pb", "mixed_split_packed.pb", "sparse_ids.pb",
                           "nonminimal_varints.pb", "reversed_order.pb", "unknown_fields.pb"}) {
    EXPECT_EQ(Sniff(test::TestFile(std::string("pprof/forms/") + name)), Match::kCertain) << name;
  }
  EXPECT_NE(Sniff(test::TestFile("pprof/forms/types_last.pb")), Match::kNo);
}

TEST(PprofSniff, LeavesOthersAlone) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("{\"a\": 1}"), std::string_view("hello\n"),
        std::string_view("\x80\x04\x95\x10\0\0\0\0", 8), std::string_view("PK\x03\x04"),
        std::string_view("\x7f"
                         "ELF"),
        std::string_view("\0\0\0\0", 4)}) {
    EXPECT_EQ(Sniff(ToBytes(text)), Match::kNo) << text;
  }
}

// A frame of 12,925 bytes: behind the tag of field 64 comes what looks like an empty string 0.
TEST(PprofSniff, LeavesPicklesOfAnyLengthAlone) {
  for (const char protocol : {'\2', '\3', '\4', '\5'}) {
    for (int length = 0; length < 1 << 16; ++length) {
      std::string text = {'\x80', protocol, '\x95'};
      text += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
      text += std::string(6, '\0') + "}\x94(";
      ASSERT_EQ(Sniff(ToBytes(text)), Match::kNo) << length;
    }
  }
}

TEST(PprofSniff, NeverThrows) {
  std::string text;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      text = {static_cast<char>(first), static_cast<char>(second), '\x7f', '\xff'};
      EXPECT_NO_THROW((void)Sniff(ToBytes(text)));
    }
  }
}

// Files that people really have, when the machine has them.
class RealFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = test::ReferenceFolder();
    if (!folder) {
      GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
    }
    folder_ = *folder;
  }

  // Every file below `name` must be named so that the message contains `what`.
  void Expect(const std::string& name, const std::string& what, ErrorCode code) const {
    std::size_t files = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_ / name, missing)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".txt") {
        continue;
      }
      ++files;
      const auto recording = LoadBytes(test::ReadFile(entry.path()));
      ASSERT_FALSE(recording.has_value()) << entry.path();
      EXPECT_EQ(recording.error().code, code) << entry.path();
      EXPECT_THAT(recording.error().message, testing::HasSubstr(what)) << entry.path();
    }
    if (files == 0) {
      GTEST_SKIP() << "no files in " << name;
    }
  }

  // Every file below `name` must be read as `display`.
  void ExpectRead(const std::string& name, const std::string& display) const {
    const auto folder = test::ReferenceFolder(name);
    if (!folder) {
      GTEST_SKIP() << "no files in " << name;
    }
    for (const auto& entry : fs::directory_iterator(*folder)) {
      const auto recording = LoadBytes(test::ReadFile(entry.path()));
      ASSERT_TRUE(recording.has_value()) << entry.path() << ": " << recording.error().message;
      EXPECT_TRUE(recording->metadata.format_display.ends_with(display))
          << recording->metadata.format_display;
    }
  }

  fs::path folder_;
};

TEST_F(RealFiles, JaxProfilesAreRead) {
  ExpectRead("jax", "JAX device memory profile (pprof)");
}

TEST_F(RealFiles, GoHeapProfilesAreRead) {
  ExpectRead("go-heap", "pprof profile");
}

TEST_F(RealFiles, MxnetLogsAreRead) {
  ExpectRead("mxnet", "MXNet memory log (TBD)");
}
TEST_F(RealFiles, Xplanes) {
  ExpectRead("xplane", "(XSpace)");
}
TEST_F(RealFiles, ProgramsAsJson) {
  const fs::path file = folder_ / "hlo/xprof_demo.memory_viewer.json";
  if (!fs::exists(file)) {
    GTEST_SKIP() << "no files in hlo";
  }
  const auto recording = LoadBytes(test::ReadFile(file));
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_EQ(recording->metadata.format_display, "compiled program of XLA (HloProto, JSON)");
}
TEST_F(RealFiles, OthersAreNamed) {
  for (const auto& [name, what] :
       {std::pair{"other/nsys_2025.5_no_memusage_WeatherBench2.sqlite",
                  "this export of Nsight Systems holds no memory events"},
        {"other/tpu_inference_jax.trace.json.gz", "a profiler trace without memory events"},
        {"hlo/xprof_golden_memory_viewer.json.gz", "what xprof's memory viewer shows"},
        {"pprof-testdata/profiles/cppbench.heap", "a heap profile in the legacy text form"},
        {"pprof-testdata/profiles/cppbench.growth", "a heap profile in the legacy text form"},
        {"pprof-testdata/profiles/cppbench.contention", "a contention profile"},
        {"pprof-testdata/profiles/cppbench.thread", "a thread profile"},
        {"pprof-testdata/profiles/cppbench.cpu", "a CPU profile in the legacy binary form"},
        {"pprof-testdata/profiles/java.cpu", "a CPU profile in the legacy binary form"},
        {"pprof-testdata/profiles/java.heap", "heap profile in the legacy text form"},
        {"pprof-testdata/profiles/java.contention", "a contention profile"}}) {
    if (!fs::exists(folder_ / name)) {
      continue;
    }
    const auto recording = LoadBytes(test::ReadFile(folder_ / name));
    ASSERT_FALSE(recording.has_value()) << name;
    EXPECT_THAT(recording.error().message, testing::HasSubstr(what)) << name;
  }
}

}  // namespace
}  // namespace memtool::formats
