#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/select/value_choice.h"
#include "mxnet/forms.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

using ::testing::HasSubstr;

std::int64_t Total(const Recording& recording) {
  std::int64_t total = 0;
  const auto choice = ChooseValue(recording, "");
  ForEachSample(*recording.profile, *choice,
                [&total](const SampleValue& sample) { total += sample.value; });
  return total;
}

Result<Recording> Load(std::string_view text, const OpenOptions& options = {}) {
  return test::LoadBytes(test::ToBytes(text), options);
}

constexpr std::string_view kHeader =
    "\"Attribute Name\",\"Requested Size\",\"Device\",\"Actual Size\",\"Reuse?\"\n";

TEST(Mxnet, RowsOfOneTagAddUpPerDevice) {
  const auto recording =
      Load(std::string(kHeader) +
           "\"a:b\",\"1\",\"0\",\"4096\",\"0\"\n\"a:b\",\"2\",\"0\",\"4096\",\"0\"\n"
           "\"a:b\",\"3\",\"1\",\"4096\",\"0\"\na:b,4,1,8192,1\n");
  ASSERT_TRUE(recording) << ToString(recording.error());
  EXPECT_EQ(recording->profile->size(), 3U);
  EXPECT_EQ(recording->stack_count(), 1U);
  EXPECT_EQ(Total(*recording), 3 * 4096 + 8192);
  EXPECT_TRUE(recording->diagnostics.empty());
}

TEST(Mxnet, AnAmendIsACounterAndNoRow) {
  const auto recording = Load(std::string(kHeader) +
                              "\"a\",\"1\",\"0\",\"4096\",\"0\"\n"
                              "\"nvml_amend\",\"7\",\"0\",\"7\",\"0\"\n"
                              "\"nvml:amend\",\"18446744073709551615\",\"1\","
                              "\"18446744073709551615\",\"0\"\n");
  ASSERT_TRUE(recording);
  EXPECT_EQ(Total(*recording), 4096);
  ASSERT_EQ(recording->counters.size(), 1U);
  EXPECT_EQ(recording->counters[0].value, 7);
  EXPECT_EQ(recording->counters[0].device, 0);
  EXPECT_THAT(recording->diagnostics.back().message, HasSubstr("18446744073709551615"));
}

TEST(Mxnet, HeaderlessUnits) {
  EXPECT_EQ(Total(*Load("w:x,15790112\nw:y,32\n")), 15790144);
  EXPECT_EQ(Total(*Load("w:x,15.5\nw:y,32\n")), 16252928 + 33554432);
  EXPECT_EQ(Total(*Load("w:x,4\nw:y,3.8147e-06\n")), 4194304 + 4);
  // Split at the last comma; what is before it is the tag.
  const auto comma = Load("a,b,1024.5\n");
  ASSERT_TRUE(comma);
  EXPECT_EQ(comma->Text(comma->Labels(comma->profile->label_sets[0])[0].text), "a,b");
}

TEST(Mxnet, OtherTextIsNotTakenForRows) {
  EXPECT_FALSE(Load("hello, world\n"));
  EXPECT_FALSE(Load("2624394, 164\n"));
  EXPECT_FALSE(Load("12,13\n14,15\n"));
  EXPECT_FALSE(Load("a,nan\n"));
  EXPECT_FALSE(Load("a,-5\n"));
}

TEST(Mxnet, ALineMayNotGrowWithoutLimit) {
  OpenOptions options;
  options.limits.record_bytes = 1U << 20U;
  const std::string text = std::string(kHeader) + "\"" + std::string(4U << 20U, 'x');
  const auto recording = Load(text, options);
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().code, ErrorCode::kLimit);
  EXPECT_THAT(ToString(recording.error()), HasSubstr("line 2"));
}

TEST(Mxnet, TagsKeepToTheLimits) {
  OpenOptions options;
  options.limits.string_bytes = 8;
  options.limits.depth = 3;
  const std::string rows(kHeader);
  EXPECT_TRUE(Load(rows + "\"a:b:c\",\"1\",\"0\",\"1\",\"0\"\n", options));
  const auto deep = Load(rows + "\"a:b:c:d\",\"1\",\"0\",\"1\",\"0\"\n", options);
  ASSERT_FALSE(deep);
  EXPECT_THAT(ToString(deep.error()), HasSubstr("--max depth"));
  const auto longer = Load(rows + "\"abcdefghi\",\"1\",\"0\",\"1\",\"0\"\n", options);
  ASSERT_FALSE(longer);
  EXPECT_THAT(ToString(longer.error()), HasSubstr("--max string-bytes"));
}

// A tag is one sample as long as its sums fit; beyond that it is several, all of them exact.
TEST(Mxnet, SamplesStayExactBeyond64Bits) {
  const std::string row = "\"a\",\"1\",\"0\",\"9223372036854775807\",\"0\"\n";
  const auto recording = Load(std::string(kHeader) + row + row);
  ASSERT_TRUE(recording) << ToString(recording.error());
  EXPECT_THAT(recording->profile->values.back(), ::testing::ElementsAre(INT64_MAX, INT64_MAX));
  EXPECT_TRUE(recording->diagnostics.empty());
  // Mebibytes leave the range, bytes do not: the form without a header is of bytes here.
  const auto bytes = Load("a,1000000000000\na,9000000000000000\n");
  ASSERT_TRUE(bytes) << ToString(bytes.error());
  EXPECT_EQ(Total(*bytes), 9'001'000'000'000'000);
  // What no device can have is not a size.
  EXPECT_FALSE(Load("a,1e300\n"));
  EXPECT_FALSE(Load("a,99999999999999999999\n"));
}

// A tag may come with any number of structures, devices and flags; each combination is a separate
// sample.
TEST(Mxnet, RowsDifferByAllTheySay) {
  const auto recording = Load(std::string(kHeader) +
                              "\"a\",\"1\",\"0\",\"1\",\"0\"\n\"a\",\"1\",\"0\",\"2\",\"1\"\n"
                              "\"a\",\"1\",\"1\",\"4\",\"0\"\n\"a\",\"1\",\"0\",\"8\",\"0\"\n");
  ASSERT_TRUE(recording) << ToString(recording.error());
  EXPECT_EQ(recording->profile->size(), 3U);
  EXPECT_EQ(recording->stack_count(), 1U);
  EXPECT_EQ(Total(*recording), 15);
}

TEST(Mxnet, TagsAreBytes) {
  const auto recording =
      Load(std::string_view("[mem] Allocate 5 bytes GPU memory (a\xff\0(b).\n"
                            "[mem] Allocate 6 MB GPU memory (mask).\r\n"
                            "Allocate x bytes GPU memory (c).\n"
                            "[mem] Allocate 99999999999999999999 bytes GPU "
                            "memory (d).\n",
                            162));
  ASSERT_TRUE(recording) << ToString(recording.error());
  EXPECT_EQ(Total(*recording), 5 + 6 * 1048576);
  EXPECT_EQ(recording->diagnostics.back().code, "bad_row");
  EXPECT_EQ(recording->diagnostics.back().count, 1U);
}

// Wherever a file is cut off, it is read or refused, and never counts more than the whole.
TEST(Mxnet, CutAnywhere) {
  for (const auto& entry : std::filesystem::directory_iterator(test::TestFolder("mxnet/forms"))) {
    if (!entry.is_regular_file() || entry.path().extension() == ".md") {
      continue;
    }
    const test::Bytes bytes = test::ReadFile(entry.path());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto recording = test::LoadBytes(std::span(bytes).first(size));
      if (recording && recording->metadata.format.starts_with("mxnet")) {
        EXPECT_GE(Total(*recording), 0) << entry.path() << " cut at " << size;
      }
    }
  }
}

TEST(Mxnet, Backtraces) {
  const auto line = mxnet::ParseBacktraceLine(
      "  [bt] (3) /opt/libmxnet.so(mxnet::Engine::Push(std::function<void ()>)+0x1f2) [0x7f]");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->function, "mxnet::Engine::Push(std::function<void ()>)");
  EXPECT_EQ(line->library, "/opt/libmxnet.so");
  EXPECT_FALSE(mxnet::ParseBacktraceLine("no frame"));
  EXPECT_TRUE(mxnet::ParseBacktraceLine("[bt] (0) "));
}

}  // namespace
}  // namespace memtool::formats
