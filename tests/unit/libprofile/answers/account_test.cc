#include "memtool/profile/answers/account.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

Keywords Words(std::string_view category, std::string_view word) {
  Dictionary dictionary{.name = "words", .axes = {{.name = "", .categories = {}}}};
  dictionary.axes[0].categories = {{.name = std::string(category), .words = {*ParseWord(word)}}};
  return *Keywords::Compile(std::move(dictionary));
}

Quantity Said(std::int64_t bytes) {
  return {.bytes = bytes, .source = "test"};
}

Selection SelectWhole(Recording recording, Framework framework = Framework::kUnknown,
                      RecordingKind kind = RecordingKind::kProfile) {
  recording.metadata.format = "made";
  recording.metadata.origin.framework = framework;
  recording.metadata.origin.kind = kind;
  return *Select(std::move(recording), {.name = "in"});
}

Recording Profile() {
  return test::ProfileMaker()
      .Sample("main@a.py;forward@m.py", {1, 100})
      .Sample("main@a.py;adam@o.py", {1, 60})
      .Finish();
}

Recording DriverLog() {
  return test::ProfileMaker()
      .Sample("main@a.py;nccl@n.cc", {1, 40}, "device=0")
      .Sample("main@a.py;pin@h.cc", {1, 7}, "device=host")
      .Finish();
}

// "key level bytes share" of the steps that are known.
Texts Known(const AccountAnswer& answer) {
  Texts texts;
  for (const AccountRow& row : answer.rows) {
    if (row.step.kind != AccountStep::Kind::kUnknown) {
      texts.push_back(fmt::format("{} {} {} {}", row.step.key, row.step.level, row.step.bytes,
                                  row.share ? fmt::format("{:.3f}", *row.share) : "-"));
    }
  }
  return texts;
}

TEST(AccountAnswer, AProfileIsWhatWasRequested) {
  const Keywords words = Words("Optimizer", "adam");
  const auto answer = Account(SelectWhole(Profile()), &words, {.facts = {.process = Said(400)}});
  ASSERT_TRUE(answer);
  EXPECT_THAT(Known(*answer),
              ElementsAre("process 2 400 1.000", "requested 5 160 0.400",
                          "bucket:Optimizer 6 60 0.150", "bucket:Others 6 100 0.250"));
  EXPECT_EQ(answer->facts[0].requested->source, "made");
  EXPECT_EQ(answer->rows.back().bucket, "Others");
  ASSERT_EQ(answer->rows.back().entries.size(), 1U);
  EXPECT_EQ(answer->rows.back().entries[0].name, "forward");
  EXPECT_EQ(answer->facts[0].reserved_kind, ReservedKind::kNoDevice);

  const auto jax = Account(SelectWhole(Profile(), Framework::kJax), nullptr);
  EXPECT_EQ(jax->facts[0].reserved_kind, ReservedKind::kXlaPool);
  EXPECT_THAT(Known(*jax), ElementsAre("requested 5 160 1.000"));
}

TEST(AccountAnswer, ADriverLogAloneIsAllThatTheProcessTook) {
  const auto answer =
      Account(SelectWhole(DriverLog(), Framework::kDriver, RecordingKind::kDriverLog), nullptr);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->facts[0].reserved_kind, ReservedKind::kWholeProcess);
  EXPECT_THAT(Known(*answer), ElementsAre("reserved 3 40 1.000", "requested 5 40 1.000"));
  ASSERT_EQ(answer->host.size(), 1U);
  EXPECT_EQ(answer->host[0].input, "in");
  EXPECT_EQ(answer->host[0].bytes, 7);
}

TEST(AccountAnswer, ADriverLogBesideASnapshotIsBelowTheFramework) {
  const Keywords words = Words("NCCL", "nccl");
  AccountMaker maker({.facts = {.process = Said(500), .reserved = Said(300)}});
  ASSERT_TRUE(maker.Add(SelectWhole(Profile()), nullptr));
  ASSERT_TRUE(maker.AddBeside(
      SelectWhole(DriverLog(), Framework::kDriver, RecordingKind::kDriverLog), words));
  const AccountAnswer answer = std::move(maker).Make();
  EXPECT_THAT(Known(answer),
              ElementsAre("process 2 500 1.000", "below_framework 3 200 0.400",
                          "recorded 4 40 0.080", "bucket:NCCL 5 40 0.080", "unrecorded 4 160 0.320",
                          "reserved 3 300 0.600", "requested 5 160 0.320"));
}

TEST(AccountAnswer, CountersTellOfTheProcessAndTheDevice) {
  Recording recording = Profile();
  recording.counters = {{.kind = CounterKind::kProcessBeyondRows, .device = 0, .value = 40},
                        {.kind = CounterKind::kDeviceTotal, .device = 0, .value = 1000}};
  const auto answer = Account(SelectWhole(std::move(recording)), nullptr);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->facts[0].process->bytes, 200);
  EXPECT_EQ(answer->facts[0].process->source, "nvml_amend");
  EXPECT_EQ(answer->facts[0].capacity->bytes, 1000);
}

// Requested and actual sizes, on two devices, with a pinned row that is on neither.
Recording TwoDevices() {
  Recording recording =
      test::ProfileMaker({{"allocations", "count"}, {"requested", "bytes"}, {"actual", "bytes"}},
                         "actual")
          .Sample("a", {1, 100, 128}, "device=gpu:1")
          .Sample("b", {1, 50, 64}, "device=gpu:0")
          .Sample("c", {1, 30, 30}, "device=host")
          .Finish();
  recording.profile->types[1].role = Role::kRequestedBytes;
  return recording;
}

TEST(AccountAnswer, TwoDevicesAreTwoLadders) {
  Recording recording = TwoDevices();
  recording.counters = {{.kind = CounterKind::kProcessBeyondRows, .device = 0, .value = 6}};
  const auto answer = Account(
      SelectWhole(std::move(recording), Framework::kMxnet, RecordingKind::kTagLog), nullptr);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->facts.size(), 2U);
  EXPECT_THAT(Known(*answer),
              ElementsAre("process 2 70 1.000", "below_framework 3 6 0.086", "reserved 3 64 0.914",
                          "allocated 4 64 0.914", "rounding 5 14 0.200", "requested 5 50 0.714",
                          "allocated 4 128 1.000", "rounding 5 28 0.219", "requested 5 100 0.781"));
  EXPECT_EQ(answer->rows.front().device, "gpu:0");
  EXPECT_EQ(answer->rows.back().device, "gpu:1");
  ASSERT_EQ(answer->host.size(), 1U);
  EXPECT_EQ(answer->host[0].bytes, 30);
}

Texts StepKeys(const AccountAnswer& answer) {
  Texts texts;
  for (const AccountRow& row : answer.rows) {
    texts.push_back(row.step.key);
  }
  return texts;
}

// Nobody could find out more about the device of a heap that has none, or of a plan.
TEST(AccountAnswer, AHeapHasNoDevice) {
  const auto answer = Account(SelectWhole(Profile()), nullptr);
  ASSERT_TRUE(answer);
  EXPECT_THAT(Known(*answer), ElementsAre("requested 0 160 1.000"));
  EXPECT_THAT(StepKeys(*answer), ElementsAre("requested"));
}

TEST(AccountAnswer, APlanIsOfNoDeviceYet) {
  const Selection plan = SelectWhole(Profile(), Framework::kJax, RecordingKind::kProgram);
  const auto answer = Account(plan, nullptr, {.facts = {.capacity = Said(320)}});
  ASSERT_TRUE(answer);
  EXPECT_THAT(Known(*answer), ElementsAre("capacity 0 320 1.000", "requested 1 160 0.500"));
  EXPECT_THAT(StepKeys(*answer), ElementsAre("capacity", "requested"));
}

TEST(AccountAnswer, TheFirstStatementWins) {
  AccountMaker maker({.facts = {.requested = Said(1)}});
  ASSERT_TRUE(maker.Add(SelectWhole(Profile()), nullptr));
  EXPECT_EQ(std::move(maker).Make().facts[0].requested->bytes, 1);
}

TEST(AccountAnswer, AsJson) {
  const auto answer = Account(SelectWhole(Profile()), nullptr, {.facts = {.process = Said(400)}});
  ASSERT_TRUE(answer);
  std::string json;
  WriteJson(MakeView(*answer), 0, [&json](std::string_view bytes) { json += bytes; });
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(json.c_str()).HasParseError()) << json;
  EXPECT_STREQ(document["schema"].GetString(), "memtool.account/1");
  EXPECT_STREQ(document["unit"].GetString(), "bytes");
  const auto& rows = document["rows"];
  ASSERT_EQ(rows.Size(), answer->rows.size());
  EXPECT_STREQ(rows[0]["step"].GetString(), "capacity");
  EXPECT_TRUE(rows[0]["bytes"].IsNull());
  EXPECT_STREQ(rows[4]["kind"].GetString(), "fact");
  EXPECT_EQ(rows[4]["bytes"].GetInt64(), 400);
}

}  // namespace
}  // namespace memtool
