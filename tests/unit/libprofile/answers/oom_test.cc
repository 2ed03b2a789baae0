// Failures of small devices, worked out by hand.
#include "memtool/profile/answers/oom.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/write.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// 100 of 1000 are free, 500 live and 300 cached.
OomMessage Message(std::int64_t requested_bytes) {
  return {.wording = OomWording::kTorchUnallocated,
          .kind = "CUDA",
          .line = 7,
          .gpu = 3,
          .rank = 2,
          .requested_bytes = OomNumber{requested_bytes},
          .capacity = OomNumber{1000},
          .free = OomNumber{100},
          .allocated = OomNumber{500},
          .unallocated = OomNumber{300}};
}

std::vector<std::string> OomRows(const std::vector<OomRow>& rows) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (const OomRow& row : rows) {
    texts.push_back(row.name.str() + " " + std::to_string(row.bytes));
  }
  return texts;
}

std::vector<OomAdviceKind> Kinds(const std::vector<OomAdvice>& advice) {
  std::vector<OomAdviceKind> kinds;
  kinds.reserve(advice.size());
  for (const OomAdvice& each : advice) {
    kinds.push_back(each.kind);
  }
  return kinds;
}

TEST(Oom, AFragmentedMessage) {
  OomMessage message = Message(200);
  message.others = {{.pid = 41, .used = OomNumber{820}}, {.pid = 42, .used = OomNumber{120}}};
  const std::vector<OomMessage> log{message};
  const OomAnswer answer = Oom({.kept = log, .found = 1}, 1, "train.log");

  EXPECT_EQ(OomRows(answer.rows),
            (std::vector<std::string>{"free 100", "live 500", "cached 300", "outside 100"}));
  EXPECT_EQ(answer.rows[1].share, 0.5);
  const OomCase& found = *answer.found;
  EXPECT_EQ(found.place.kind, OomPlace::Kind::kDevice);
  EXPECT_EQ(found.place.device, "GPU");
  EXPECT_EQ(found.place.gpu, 3);
  EXPECT_EQ(found.place.rank, 2);
  EXPECT_EQ(found.verdict.short_of_driver, 100);
  EXPECT_EQ(found.verdict.in_all, 400);
  EXPECT_EQ(found.conclusion.reason, OomReason::kFragmentation);
  EXPECT_EQ(found.conclusion.requests, 2.0);
  EXPECT_EQ(found.conclusion.ruled_out, OomRuledOut::kSmallDevice);
  EXPECT_EQ(found.conclusion.live_share, 0.5);
  EXPECT_TRUE(found.processes_contradict) << "100 free and 940 held, of 1000";
}

TEST(Oom, AdviceHasTheFiguresThatDecidedIt) {
  OomMessage message = Message(200);
  // 41 holds as much as this allocator (800) and is taken for it; 42 alone holds what was lacking.
  message.others = {{.pid = 41, .used = OomNumber{820}}, {.pid = 42, .used = OomNumber{120}}};
  const std::vector<OomAdvice> advice = Advise(MakeCase(message));
  ASSERT_EQ(Kinds(advice),
            (std::vector<OomAdviceKind>{OomAdviceKind::kExpandableSegments,
                                        OomAdviceKind::kEndProcess, OomAdviceKind::kFindHolders}));
  EXPECT_EQ(advice[0].bytes, 300);
  EXPECT_EQ(advice[0].variable, "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(advice[0].when, OomSettingState::kPerhapsOn);
  EXPECT_EQ(advice[1].pid, 42);
  EXPECT_EQ(advice[1].bytes, 120);
  EXPECT_EQ(advice[1].lacking, 100);
  EXPECT_EQ(advice[1].share, 0.12);
  EXPECT_EQ(advice[2].bytes, 500);
  EXPECT_EQ(ToJson(ToValue(advice[1])),
            R"({"advice":"end_process","bytes":120,"lacking":100,"pid":42,"share":0.12})");
}

TEST(Oom, AFullDevice) {
  const OomCase found = MakeCase(Message(450));
  EXPECT_EQ(found.conclusion.reason, OomReason::kFull);
  EXPECT_EQ(found.conclusion.ruled_out, OomRuledOut::kFragmentation);
  EXPECT_EQ(found.verdict.short_in_all, 50);
  const std::vector<OomAdvice> advice = Advise(found);
  ASSERT_EQ(Kinds(advice),
            (std::vector<OomAdviceKind>{OomAdviceKind::kHoldLess, OomAdviceKind::kFindHolders}));
  EXPECT_EQ(advice[0].bytes, 50);
}

// 350 fit neither into the 100 that the driver has nor into the 300 cached.
TEST(Oom, ARequestThatFitsInNeither) {
  const OomCase found = MakeCase(Message(350));
  EXPECT_EQ(found.conclusion.reason, OomReason::kNeither);
  EXPECT_EQ(found.conclusion.ruled_out, OomRuledOut::kNothing);
  const std::vector<OomAdvice> advice = Advise(found);
  ASSERT_EQ(Kinds(advice),
            (std::vector<OomAdviceKind>{OomAdviceKind::kExpandableSegments,
                                        OomAdviceKind::kHoldLess, OomAdviceKind::kFindHolders}));
  EXPECT_EQ(advice[1].bytes, 250) << "what the driver was short of";
}

TEST(Oom, TheDriverHadMuchMoreFree) {
  OomMessage message = Message(90);
  message.capacity = OomNumber{std::int64_t{1} << 33U};
  message.free = OomNumber{std::int64_t{1} << 32U};
  const OomCase found = MakeCase(message);
  EXPECT_EQ(found.conclusion.reason, OomReason::kDriverRefused);
  EXPECT_EQ(Kinds(Advise(found)).front(), OomAdviceKind::kOtherRefusals);
}

// Of 1000, 20 are free, 100 live and 300 cached: enough for 200, but not what fills the device.
TEST(Oom, WhatHoldsMostOfTheDeviceComesFirst) {
  OomMessage message = Message(200);
  message.free = OomNumber{20};
  message.allocated = OomNumber{100};
  const OomCase outside = MakeCase(message);
  EXPECT_EQ(outside.verdict.why, OomCause::kFull);
  EXPECT_EQ(outside.conclusion.reason, OomReason::kHeldElsewhere);
  ASSERT_NE(MostlyElsewhere(outside), nullptr);
  EXPECT_EQ(MostlyElsewhere(outside)->key, "outside");
  EXPECT_EQ(MostlyElsewhere(outside)->bytes, 580);
  EXPECT_EQ(Kinds(Advise(outside)), (std::vector{OomAdviceKind::kFindOutside}));

  message.process = OomNumber{410};
  const OomCase others = MakeCase(message);
  EXPECT_EQ(MostlyElsewhere(others)->key, "other");
  EXPECT_EQ(MostlyElsewhere(others)->bytes, 570);
  EXPECT_EQ(Kinds(Advise(others)), (std::vector{OomAdviceKind::kFindProcesses}));
  message.others = {{.pid = 71, .used = OomNumber{560}}};
  EXPECT_EQ(Kinds(Advise(MakeCase(message))), (std::vector{OomAdviceKind::kEndProcess}));

  message.process = OomNumber{980};
  message.others.clear();
  EXPECT_EQ(Kinds(Advise(MakeCase(message))), (std::vector{OomAdviceKind::kFreeOutside}));

  message.process.reset();
  message.allocated = OomNumber{660};
  message.private_pools = OomNumber{600};
  EXPECT_EQ(Kinds(Advise(MakeCase(message))), (std::vector{OomAdviceKind::kFewerPools}));

  message.unallocated.reset();  // then "outside" has what is cached too
  message.private_pools.reset();
  message.allocated = OomNumber{100};
  EXPECT_EQ(MostlyElsewhere(MakeCase(message)), nullptr);
}

// Others hold the device, and a little less of one's own would do as well.
TEST(Oom, OfOnesOwnALittleLess) {
  OomMessage message = Message(60);
  message.free = OomNumber{20};
  message.allocated = OomNumber{300};
  message.unallocated = OomNumber{30};
  const OomCase found = MakeCase(message);
  EXPECT_EQ(found.conclusion.reason, OomReason::kFull);
  EXPECT_EQ(Kinds(Advise(found)),
            (std::vector{OomAdviceKind::kFindOutside, OomAdviceKind::kHoldLess,
                         OomAdviceKind::kFindHolders}));
}

// Pages of 2 MiB are those of devices.
TEST(Oom, TheLastPageIsADriversOfDevices) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
  const OomCase host = MakeCase({.wording = OomWording::kHost,
                                 .kind = "ollama",
                                 .requested_bytes = OomNumber{6 * kGiB},
                                 .free = OomNumber{6 * kGiB}});
  EXPECT_EQ(host.conclusion.reason, OomReason::kHostMemory);
  const OomCase shared = MakeCase({.wording = OomWording::kTorchMps,
                                   .kind = "MPS",
                                   .requested_bytes = OomNumber{2 * kGiB},
                                   .limit = OomNumber{18 * kGiB},
                                   .outside = OomNumber{kGiB},
                                   .allocated = OomNumber{15 * kGiB}});
  EXPECT_EQ(shared.conclusion.reason, OomReason::kMpsLimit);
}

TEST(Oom, OnlyWhatWasFreeIsReported) {
  OomMessage message{.wording = OomWording::kLibrary, .kind = "ROCm's runtime"};
  message.free = OomNumber{std::int64_t{52} << 20U};
  EXPECT_EQ(MakeCase(message).conclusion.reason, OomReason::kNothingFree);
  EXPECT_EQ(MakeCase(message).verdict.why, OomCause::kFull);
  message.free = OomNumber{std::int64_t{60} << 30U};
  EXPECT_EQ(MakeCase(message).conclusion.reason, OomReason::kNoFigures);
  EXPECT_EQ(MakeCase(message).verdict.why, OomCause::kUnknown);
}

TEST(Oom, ReasonsOfTheRest) {
  EXPECT_EQ(MakeCase(Message(1200)).conclusion.reason, OomReason::kTooLarge);
  EXPECT_EQ(MakeCase(Message(90)).conclusion.reason, OomReason::kFragmentation);
  OomMessage message = Message(200);
  message.unallocated.reset();
  EXPECT_EQ(MakeCase(message).conclusion.reason, OomReason::kCacheUnknown);
  message.free.reset();
  EXPECT_EQ(MakeCase(message).conclusion.reason, OomReason::kFreeUnknown) << "but what is live";
  EXPECT_EQ(MakeCase({.requested_bytes = OomNumber{9}}).conclusion.reason,
            OomReason::kOnlyRequested);
  EXPECT_EQ(MakeCase(OomMessage{}).conclusion.reason, OomReason::kNoFigures);
  EXPECT_EQ(MakeCase({.absurd = true}).conclusion.reason, OomReason::kAbsurd);
  EXPECT_EQ(MakeCase({.wording = OomWording::kHost}).conclusion.reason, OomReason::kHostMemory);
  OomMessage limited = Message(90);
  limited.limit = OomNumber{850};
  EXPECT_EQ(MakeCase(limited).conclusion.reason, OomReason::kLimit);
  EXPECT_EQ(MakeCase(limited).conclusion.held, 800);
}

// 64 MiB of device 0, of which f0 asked for 29 and got 30, and f1 has 10; 10 and 14 are free. Then
// 20 MiB are requested, while the driver has 4.
Recording Fragmented() {
  RecordingBuilder builder;
  const std::vector<StackId> stacks = test::AddStacks(builder, 2, "train.py");
  std::vector<Block> blocks;
  std::uint64_t address = 0;
  const auto block = [&](std::int64_t size, std::int64_t requested, StackId stack) {
    blocks.push_back({.address = address,
                      .size = size * kMiB,
                      .requested = requested * kMiB,
                      .stack = stack,
                      .state = requested > 0 ? BlockState::kActive : BlockState::kInactive});
    address += static_cast<std::uint64_t>(size * kMiB);
  };
  block(30, 29, stacks[0]);
  block(10, 0, {});
  block(10, 10, stacks[1]);
  block(14, 0, {});
  AllocatorState state = test::InOneSegment(std::move(blocks), 64 * kMiB);
  state.segments[0].allocated = 40 * kMiB;
  state.segments[0].active = 40 * kMiB;
  History history = test::BuildHistory(
      {{.key = 0, .size = 29 * kMiB, .stack = stacks[0], .action = Action::kAlloc},
       {.key = 1, .size = 100 * kMiB, .stack = stacks[0], .action = Action::kOom},
       {.key = 40 * kMiB, .size = 10 * kMiB, .stack = stacks[1], .action = Action::kAlloc},
       {.key = 4 * kMiB, .size = 20 * kMiB, .stack = stacks[1], .action = Action::kOom}});
  return test::MakeRecording(std::move(history), std::move(state), std::move(builder));
}

OomAnswer AtOom() {
  Recording recording = Fragmented();
  EXPECT_EQ(LastOom(recording, ""), "0");
  EXPECT_FALSE(LastOom(recording, "1"));
  auto selection =
      Select(std::move(recording), {.name = "s.pickle", .moment = *ParseMoment("oom")});
  return Oom(*selection);
}

TEST(Oom, ASnapshot) {
  const OomAnswer answer = AtOom();
  EXPECT_EQ(answer.whole(), 68 * kMiB);
  EXPECT_EQ(OomRows(answer.rows),
            (std::vector<std::string>{
                "free " + std::to_string(4 * kMiB), "live " + std::to_string(40 * kMiB),
                "f0 " + std::to_string(29 * kMiB), "f1 " + std::to_string(10 * kMiB),
                "(rounding) " + std::to_string(kMiB), "cached " + std::to_string(24 * kMiB)}));
  EXPECT_EQ(answer.rows[2].file, "train.py");
  const OomCase& found = *answer.found;
  EXPECT_EQ(found.place.trace, "device 0");
  EXPECT_FALSE(found.event) << "the last event is the end";
  EXPECT_FALSE(found.device) << "there is only one";
  EXPECT_EQ(found.verdict.short_of_driver, 16 * kMiB);
  EXPECT_EQ(found.verdict.in_all, 28 * kMiB);
  EXPECT_EQ(found.state->usable_largest, 14 * kMiB);
  EXPECT_EQ(found.conclusion.reason, OomReason::kFragmentation);
  EXPECT_EQ(found.conclusion.requests, 1.4);
  EXPECT_EQ(Kinds(answer.advice), (std::vector<OomAdviceKind>{OomAdviceKind::kSettingsUnknown,
                                                              OomAdviceKind::kExpandableSegments,
                                                              OomAdviceKind::kLookAtMoment}));
  ASSERT_EQ(answer.other_count, 1);
  EXPECT_EQ(answer.others[0].event, 1);
  EXPECT_EQ(answer.others[0].requested_bytes, 100 * kMiB);
}

TEST(Oom, HoldersFold) {
  const OomAnswer answer = AtOom();
  EXPECT_EQ(FoldHolders(answer, 2).size(), answer.rows.size()) << "one row for one saves nothing";
  const std::vector<OomRow> rows = FoldHolders(answer, 1);
  EXPECT_EQ(OomRows(rows),
            (std::vector<std::string>{
                "free " + std::to_string(4 * kMiB), "live " + std::to_string(40 * kMiB),
                "f0 " + std::to_string(29 * kMiB), "(others) " + std::to_string(11 * kMiB),
                "cached " + std::to_string(24 * kMiB)}));
  EXPECT_EQ(rows[3].count, 2U);
  EXPECT_DOUBLE_EQ(rows[3].share, 11.0 / 68);
}

TEST(Oom, AMessageIsChosen) {
  const OomMessage bare{.kind = "CUDA", .gpu = 1};
  // Numbers 1 to 3 of five.
  const std::vector<OomMessage> kept{bare, Message(200), Message(300)};
  const OomMessages log{.kept = kept, .found = 5};
  EXPECT_EQ(ChooseMessage(log, std::nullopt, ""), 2) << "the first that tells what was asked";
  EXPECT_EQ(ChooseMessage(log, std::nullopt, "1"), 1);
  EXPECT_FALSE(ChooseMessage(log, std::nullopt, "2"));
  EXPECT_EQ(ChooseMessage(log, -2, ""), 4);
  EXPECT_EQ(ChooseMessage(log, 9, ""), 9) << "not checked";
  const OomAnswer answer = Oom(log, 2, "-");
  EXPECT_EQ(answer.head.inputs[0].path, "standard input");
  EXPECT_EQ(answer.head.inputs[0].moment, "line:7");
  EXPECT_EQ(answer.other_count, 4);
  ASSERT_EQ(answer.others.size(), 2U);
  EXPECT_EQ(answer.others[0].message, 1);
  EXPECT_EQ(answer.others[1].message, 3);
  EXPECT_FALSE(answer.others[0].requested_bytes);
}

// XLA says once what was asked, and then what its pool had: one request, told twice.
TEST(Oom, OfOneRequestTheMessageWithMoreFiguresIsChosen) {
  OomMessage little = Message(200);
  little.free.reset();
  little.capacity.reset();
  const std::vector<OomMessage> kept{little, Message(300), Message(200)};
  EXPECT_EQ(ChooseMessage({.kept = kept, .found = 3}, std::nullopt, ""), 3);
}

TEST(Oom, TheFirstRankIsTold) {
  OomMessage first = Message(200);
  OomMessage next = Message(300);
  first.rank = 3;
  first.time = 1'000'000'000;
  next.rank = 0;
  next.time = 5'200'000'000;
  const std::vector<OomMessage> kept{first, first, next};
  const OomAnswer answer = Oom({.kept = kept, .found = 3}, 1, "train.log");
  ASSERT_TRUE(answer.order);
  EXPECT_EQ(answer.order->first, 3);
  EXPECT_EQ(answer.order->next, 0);
  EXPECT_EQ(answer.order->nanos, 4'200'000'000);
}

TEST(Oom, IsJson) {
  std::string text;
  WriteJson(MakeView(AtOom()), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "memtool.oom/1");
  EXPECT_STREQ(json["verdict"].GetString(), "fragmentation");
  EXPECT_STREQ(json["conclusion"]["reason"].GetString(), "fragmentation");
  EXPECT_STREQ(json["conclusion"]["advice"][1]["when"].GetString(), "untold");
  EXPECT_EQ(json["rows"].Size(), 6U);
  EXPECT_STREQ(json["rows"][2]["kind"].GetString(), "holder");
  EXPECT_TRUE(json["rows"][0]["line"].IsNull());
}

TEST(Oom, ALogWithoutAMessage) {
  const std::vector<OomMessage> none;
  const OomAnswer answer = Oom({.kept = none, .lines = 3}, 0, "quiet.log");
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.log_lines, 3);
  std::string text;
  WriteJson(MakeView(answer), 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(text.c_str()).HasParseError());
  EXPECT_STREQ(json["verdict"].GetString(), "none");
  EXPECT_TRUE(json["conclusion"].IsNull());
  EXPECT_EQ(json["messages"].GetInt64(), 0);
}

}  // namespace
}  // namespace memtool
