// Snapshots that memtool writes read back as what was written.
#include <gtest/gtest.h>

#include <filesystem>

#include "memtool/formats/writer.h"
#include "snapshot_text.h"
#include "support/files.h"
#include "torch_snapshot/wire/pickle_writer.h"

namespace memtool::tests {
namespace {

using formats::torch_snapshot::PickleWriter;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

std::string Number(std::int64_t value) {
  PickleWriter writer;
  writer.Int(value);
  return Hex(writer.Finish());
}
std::string Unsigned(std::uint64_t value) {
  PickleWriter writer;
  writer.Unsigned(value);
  return Hex(writer.Finish());
}

// What Python's pickle.dumps(value, 2) writes.
TEST(PickleWriter, NumbersAsPythonWritesThem) {
  EXPECT_EQ(Number(0), "80024b002e");
  EXPECT_EQ(Number(255), "80024bff2e");
  EXPECT_EQ(Number(256), "80024d00012e");
  EXPECT_EQ(Number(65535), "80024dffff2e");
  EXPECT_EQ(Number(65536), "80024a000001002e");
  EXPECT_EQ(Number(2147483647), "80024affffff7f2e");
  EXPECT_EQ(Number(2147483648), "80028a0500000080002e");
  EXPECT_EQ(Number(-1), "80024affffffff2e");
  EXPECT_EQ(Number(INT64_MAX), "80028a08ffffffffffffff7f2e");
  EXPECT_EQ(Number(INT64_MIN), "80028a0800000000000000802e");
  EXPECT_EQ(Unsigned(UINT64_MAX), "80028a09ffffffffffffffff002e");
  EXPECT_EQ(Unsigned(0x7f0000000000),
            "80028a060000000000"
            "7f2e");
}

TEST(PickleWriter, BatchesAsPythonDoes) {
  PickleWriter writer;
  writer.BeginList();
  for (int i = 0; i < 1001; ++i) {
    writer.Item();
    writer.Int(1);
  }
  writer.EndList();
  const std::string bytes = writer.Finish();
  EXPECT_EQ(bytes.size(), 2U + 1 + (1 + 2000 + 1) + (1 + 2 + 1) + 1);
}

TEST(PickleWriter, TextIsWrittenOnceAndIsUtf8) {
  PickleWriter writer;
  writer.BeginList();
  for (const std::string_view text : {"a\xff"
                                      "b",
                                      "",
                                      "a\xff"
                                      "b"}) {
    writer.Item();
    writer.Text(text);
  }
  writer.EndList();
  EXPECT_EQ(Hex(writer.Finish()),
            "80025d2858050000"
            "0061efbfbd62"
            "7100"
            "5800000000"
            "7101"
            "6800"
            "652e");
}

// Snapshots without requested sizes are written with what their blocks' histories tell about them.
std::string Schema(const Recording& recording) {
  const std::string& text = recording.metadata.format_display;
  const std::string schema = text.substr(std::min(text.find("schema of"), text.size()));
  return schema == "schema of 1.12 to 2.0)" ? "schema of 2.0 or later)" : schema;
}

// Everything that reads well is written and read to the same recording.
TEST(TorchWriter, RoundTrip) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CorpusFile("forms"))) {
    if (!entry.is_regular_file()) {
      continue;
    }
    const auto read = LoadText(ReadWhole(entry.path()));
    ASSERT_TRUE(read) << entry.path();
    if (!read->state) {
      continue;  // the picture of a trace: without its state no snapshot can be made
    }
    const auto written = formats::WriteAs("torch_snapshot", *read);
    ASSERT_TRUE(written) << entry.path();
    const auto again = LoadText(*written);
    ASSERT_TRUE(again) << entry.path() << ToString(again.error());
    EXPECT_EQ(Describe(*again), Describe(*read)) << entry.path();
    EXPECT_EQ(Schema(*again), Schema(*read)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 10U);
}

// What is said about blocks is kept, and JSON stays JSON.
TEST(TorchWriter, KeepsWhatIsSaidOfBlocks) {
  const auto read =
      LoadText(ReadWhole((test::TestFolder("torch/fresh") / "annotated.json").string()));
  ASSERT_TRUE(read);
  const auto written = formats::WriteAs("torch_snapshot", *read);
  ASSERT_TRUE(written);
  EXPECT_NE(written->find(R"({"layer":"fc1","step":3,"frozen":false})"), std::string::npos);
  EXPECT_NE(written->find("annotate"), std::string::npos);
  const auto again = LoadText(*written);
  ASSERT_TRUE(again);
  EXPECT_EQ(Describe(*again), Describe(*read));
  EXPECT_EQ(LabelText(*again, 3), "annotation=saved for backward annotation=relu");
}

std::vector<std::string> GetComments(const Recording& recording) {
  std::vector<std::string> comments;
  for (const StringId comment : recording.metadata.comments) {
    comments.emplace_back(recording.Text(comment));
  }
  return comments;
}

Result<Recording> WithKey(const std::string& value) {
  return LoadText(
      R"({"segments":[],"device_traces":[[{"action":"snapshot","addr":0,"size":0,"stream":0}]],)"
      R"("memtool":)" +
      value + "}");
}

TEST(TorchWriter, CommentsComeBack) {
  const auto first = WithKey(R"({"comments":["one","two"],"later":{"comments":"no"}})");
  ASSERT_TRUE(first) << ToString(first.error());
  const std::vector<std::string> wanted{"one", "two"};
  EXPECT_EQ(GetComments(*first), wanted);
  const auto bytes = formats::WriteAs("torch_snapshot", *first);
  ASSERT_TRUE(bytes) << ToString(bytes.error());
  const auto second = LoadText(*bytes);
  ASSERT_TRUE(second) << ToString(second.error());
  EXPECT_EQ(GetComments(*second), wanted);
  ASSERT_EQ(second->diagnostics.size(), 1U);
  EXPECT_EQ(second->diagnostics[0].code, "cut");
  EXPECT_EQ(second->diagnostics[0].message, "one; two");
}

TEST(TorchWriter, OddCommentsAreNoFault) {
  for (const char* value : {"5", "null", "[]", "{}", "[\"x\"]", "{\"comments\":[]}"}) {
    const auto recording = WithKey(value);
    ASSERT_TRUE(recording) << value << ToString(recording.error());
    EXPECT_TRUE(GetComments(*recording).empty()) << value;
  }
}

TEST(TorchWriter, NeedsEventsAndState) {
  EXPECT_FALSE(formats::WriteAs("torch_snapshot", Recording{}));
}

}  // namespace
}  // namespace memtool::tests
