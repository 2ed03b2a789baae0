#include "memtool/formats/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "memtool/formats/byte_window.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

using ::testing::HasSubstr;

constexpr AcceptedKinds kAll{.recordings = true, .oom_logs = true, .device_report = true};
constexpr std::string_view kOom = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
constexpr std::string_view kDeviceReportText = "pid, used_gpu_memory [MiB]\n10, 164 MiB\n";

Result<Document> OpenText(std::string_view text, const AcceptedKinds& accepted) {
  return Open(MakeMemorySource(std::as_bytes(std::span(text))), "in", {.accepted = accepted});
}

TEST(Open, TellsTheKindByContent) {
  const auto profile = test::TestFile("pprof/forms/packed.pb");
  const auto recording = OpenText(test::AsView(profile), kAll);
  ASSERT_TRUE(recording) << ToString(recording.error());
  EXPECT_EQ(recording->kind(), DocumentKind::kRecording);
  EXPECT_EQ(recording->recording().metadata.format, "pprof");

  const auto report = OpenText(kDeviceReportText, kAll);
  ASSERT_TRUE(report) << ToString(report.error());
  ASSERT_EQ(report->kind(), DocumentKind::kDeviceReport);
  EXPECT_EQ(report->device_report().readings.at(0).used, std::int64_t{164} << 20U);

  auto log = OpenText(kOom, kAll);
  ASSERT_TRUE(log) << ToString(log.error());
  ASSERT_EQ(log->kind(), DocumentKind::kOomLog);
  EXPECT_EQ(log->oom_log().found, 1U);
  EXPECT_EQ((*std::move(log)).oom_log().bytes, kOom.size());
}

// A file in the folder for temporary files that goes away at the end.
class GrowingFile {
 public:
  GrowingFile() : path_(testing::TempDir() + "/growing" + std::to_string(::getpid())) {}
  ~GrowingFile() { std::filesystem::remove(path_); }
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void Append(std::string_view text) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(OpenFile, EndsAtTheSizeThatItHadFirst) {
  const GrowingFile file;
  file.Append("first");
  auto source = OpenFile(file.path());
  ASSERT_TRUE(source);
  file.Append(" and later");
  EXPECT_EQ((*source)->EndedAt(), std::nullopt);
  const auto bytes = test::Drain(**source, 3);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(test::AsView(*bytes), "first");
  EXPECT_EQ((*source)->EndedAt(), 5U);

  auto whole = OpenFile(file.path());
  ASSERT_TRUE(whole);
  EXPECT_EQ(test::AsView(*test::Drain(**whole, 3)), "first and later");
  EXPECT_EQ((*whole)->EndedAt(), std::nullopt);
}

TEST(Open, SaysThatAFileGrew) {
  const auto profile = test::TestFile("pprof/forms/packed.pb");
  const GrowingFile file;
  file.Append(test::AsView(profile));
  auto source = OpenFile(file.path());
  ASSERT_TRUE(source);
  file.Append(test::AsView(profile));
  const auto recording = OpenRecording(*std::move(source), "in");
  ASSERT_TRUE(recording) << ToString(recording.error());
  ASSERT_EQ(recording->diagnostics.size(), 1U);
  EXPECT_EQ(recording->diagnostics[0].code, "file_grew");
  EXPECT_EQ(recording->diagnostics[0].severity, Severity::kWarning);
}

TEST(GetStream, IsNoneForWhatCanBeReadAgain) {
  const GrowingFile file;
  file.Append("x");
  EXPECT_EQ(GetStream(file.path()), std::nullopt);
  EXPECT_EQ(GetStream(file.path() + ".missing"), std::nullopt);
  EXPECT_EQ(GetStream("-"), "-");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string one = "/dev/fd/" + std::to_string(ends[0]);
  const std::string other = "/proc/self/fd/" + std::to_string(ends[0]);
  EXPECT_NE(GetStream(one), std::nullopt);
  EXPECT_EQ(GetStream(one), GetStream(other));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Open, TakesAFileForWhatIsWantedOnly) {
  for (const std::string_view text : {kOom, kDeviceReportText}) {
    const auto refused = OpenText(text, {});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << text;
    EXPECT_EQ(refused.error().input, "in") << text;
  }
  // Text is a log where logs are wanted; whether it says anything is another question.
  const auto log = OpenText(kDeviceReportText, {.oom_logs = true});
  ASSERT_TRUE(log);
  ASSERT_EQ(log->kind(), DocumentKind::kOomLog);
  EXPECT_EQ(log->oom_log().found, 0U);
  const auto report = OpenText(kOom, {.recordings = false, .device_report = true});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kUnknownFormat);
}

TEST(Open, NamedFormatIsARecording) {
  const auto wrong = Open(MakeMemorySource(std::as_bytes(std::span(kOom))), "in",
                          {.format = "torch_snapshot", .accepted = kAll});
  ASSERT_FALSE(wrong);
  const auto unknown =
      Open(MakeMemorySource(std::as_bytes(std::span(kOom))), "in", {.format = "xml"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_THAT(unknown.error().hint, HasSubstr("pprof, torch_snapshot"));
}

TEST(Open, SaysWhatCannotBeOpened) {
  const auto missing = Open("/nowhere/at/all");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_EQ(missing.error().input, "/nowhere/at/all");
  EXPECT_EQ(CertainReader("/nowhere/at/all"), nullptr);
}

// A custom reader: each byte is a sample of one byte.
class BytesReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "bytes"; }
  [[nodiscard]] std::string_view summary() const override { return "any bytes"; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> /*head*/) const override {
    return Match::kCertain;
  }
  Result<Recording> Read(ByteWindow& in, const Limits& /*limits*/) const override {
    constexpr std::array<std::int64_t, 1> kOne{1};
    RecordingBuilder builder;
    const StringId space = builder.Intern("space");
    builder.StartProfile({{.type = space, .unit = builder.Intern("bytes"), .role = Role::kBytes}},
                         space);
    for (auto bytes = in.Fill(1); !bytes.empty(); bytes = in.Fill(1)) {
      builder.AddSample(builder.AddStack({}), builder.InternLabels({}), kOne);
      in.Advance(1);
    }
    return std::move(builder).Finish();
  }
};

TEST(Open, AsksTheReadersThatItIsGiven) {
  const BytesReader own;
  const auto document = Open(MakeMemorySource(std::as_bytes(std::span(kOom))), "in",
                             {.accepted = kAll, .readers = {&own}});
  ASSERT_TRUE(document) << ToString(document.error());
  ASSERT_EQ(document->kind(), DocumentKind::kRecording);
  EXPECT_EQ(document->recording().metadata.format, "bytes");
  EXPECT_EQ(document->recording().profile->size(), kOom.size());
}

}  // namespace
}  // namespace memtool::formats
