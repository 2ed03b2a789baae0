#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "folded/folded_writer.h"
#include "memtool/formats/writer.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Recording Read() {
  auto recording = test::LoadBytes(test::TestFile("pprof/forms/packed.pb"));
  EXPECT_TRUE(recording);
  return recording ? *std::move(recording) : Recording{};
}

TEST(Writers, HaveNamesSummariesAndEndings) {
  std::vector<std::string> names;
  for (const Writer* writer : Writers()) {
    names.emplace_back(writer->name());
    EXPECT_FALSE(writer->summary().empty()) << writer->name();
    ASSERT_FALSE(writer->endings().empty()) << writer->name();
    for (const std::string_view ending : writer->endings()) {
      EXPECT_TRUE(ending.starts_with('.')) << ending;
    }
  }
  EXPECT_THAT(names, ElementsAre("pprof", "folded", "json", "chrome", "perfetto", "sqlite",
                                 "torch_snapshot", "memtool"));
}

TEST(Writers, RefuseWhatTheyCannotHold) {
  for (const Writer* writer : Writers()) {
    if (writer->writes() == Written::kRecording) {
      continue;  // an empty recording is one
    }
    const auto written = WriteAs(writer->name(), Recording{});
    ASSERT_FALSE(written) << writer->name();
    EXPECT_EQ(written.error().code, ErrorCode::kUnsupported) << writer->name();
  }
  const auto unknown = WriteAs("xml", Read());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_THAT(unknown.error().hint,
              HasSubstr("pprof, folded, json, chrome, perfetto, sqlite, torch_snapshot, memtool"));
}

TEST(Writers, StopWhenTheSinkDoes) {
  const Recording recording = Read();
  for (const Writer* writer : Writers()) {
    if (writer->writes() == Written::kHistory || writer->writes() == Written::kTimeline) {
      continue;
    }
    int calls = 0;
    const auto written = writer->Write(recording, {}, [&calls](std::string_view) {
      ++calls;
      return Result<void>(Fail(ErrorCode::kOutput, "full"));
    });
    ASSERT_FALSE(written) << writer->name();
    EXPECT_EQ(written.error().code, ErrorCode::kOutput) << writer->name();
    EXPECT_EQ(calls, 1) << writer->name();
  }
}

TEST(Writers, JsonSaysItsSchema) {
  EXPECT_THAT(*WriteAs("json", Read()), StartsWith("{\"schema\":\"memtool.profile/1\""));
}

TEST(EscapeFolded, KeepsFramesApart) {
  EXPECT_EQ(EscapeFolded("a;b"), "a:b");
  EXPECT_EQ(EscapeFolded("a\nb"), "a\\nb");
  EXPECT_EQ(EscapeFolded("a b 12"), "a b 12");
  for (int c = 0; c < 256; ++c) {
    const std::string escaped = EscapeFolded(std::string(1, static_cast<char>(c)) + ";x");
    EXPECT_EQ(escaped.find_first_of(";\n\r"), std::string::npos) << c;
  }
}

}  // namespace
}  // namespace memtool::formats
