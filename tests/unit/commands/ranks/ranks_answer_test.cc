// The answer about ranks does not depend on how digests come.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memtool/profile/answers/ranks.h"
#include "memtool/profile/answers/write.h"
#include "ranks/names/rank_names.h"

namespace memtool {
namespace {

constexpr std::int64_t kAnswerMiB = std::int64_t{1} << 20U;

Digest Of(std::int64_t rank, std::int64_t step) {
  Digest digest;
  digest.path =
      "job/iteration_" + std::to_string(step) + "/rank" + std::to_string(rank) + "_x.pickle";
  digest.hash = "00000000000000000000000000000000";
  digest.hash.replace(20, 6, std::to_string(100000 + rank * 1000 + step));
  digest.bytes = 10;
  digest.format = "torch_snapshot";
  digest.since_epoch = true;
  DigestDevice device{.name = "0", .device = static_cast<std::int32_t>(rank % 8)};
  device.peak = (rank < 8 ? 4000 : 3000) * kAnswerMiB + (rank == 5 ? 500 * kAnswerMiB : 0);
  device.reserved_peak = device.peak;
  digest.rows = {{"forward", "model.py", (rank < 8 ? 4000 : 3000) * kAnswerMiB, 0}};
  if (rank == 5) {
    digest.rows.push_back({"keep", "debug.py", 500 * kAnswerMiB, 0});
  }
  // Equal differences: only names tell rows apart.
  digest.rows.push_back({"b", "z.py", rank < 8 ? 0 : 70 * kAnswerMiB, 1});
  digest.rows.push_back({"a", "z.py", rank < 8 ? 0 : 70 * kAnswerMiB, 1});
  digest.peak = device.peak;
  digest.devices = {device};
  digest.fullest = 0;
  if (rank == 3) {
    digest.ooms = {{.device = 3, .event = 1, .time = 5'000'000'000, .requested_bytes = 7}};
    digest.grid = {.first = 1, .shift = 30, .live = {1}, .reserved = {2}};
  }
  return digest;
}

std::string Answer(const std::vector<Digest>& digests) {
  RanksMaker maker;
  for (const Digest& digest : digests) {
    maker.Add(digest);
  }
  const auto answer = std::move(maker).Make({.identify = commands::IdentifyByNames()});
  std::string text;
  WriteJson(MakeView(*answer), 0, [&text](std::string_view more) { text += more; });
  return text;
}

TEST(Ranks, AnyOrderGroupingAndDoublingGivesTheSameBytes) {
  std::vector<Digest> digests;
  for (std::int64_t rank = 0; rank < 16; ++rank) {
    for (const std::int64_t step : {10, 20}) {
      if (rank != 7) {
        digests.push_back(Of(rank, step));
      }
    }
  }
  digests.push_back(DigestOfProblem({.path = "job/iteration_20/rank7_x.pickle"}, "was cut"));
  const std::string report = Answer(digests);
  EXPECT_NE(report.find("\"keep\""), std::string::npos);
  EXPECT_NE(report.find("was cut"), std::string::npos);
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 1000; ++turn) {
    std::vector<Digest> others = digests;
    for (std::size_t more = random() % 6; more > 0; --more) {
      others.push_back(digests[random() % digests.size()]);
    }
    std::shuffle(others.begin(), others.end(), random);
    ASSERT_EQ(Answer(others), report) << turn;
  }
}

TEST(Ranks, TheLatestStepThatMostRanksHave) {
  std::vector<Digest> digests;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    digests.push_back(Of(rank, 10));
    digests.push_back(Of(rank, 20));
  }
  digests.push_back(Of(0, 30));
  RanksMaker maker;
  for (const Digest& digest : digests) {
    maker.Add(digest);
  }
  const auto answer = std::move(maker).Make({.identify = commands::IdentifyByNames()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->set.key.step, 20);
  EXPECT_EQ(answer->ranks.size(), 8U);
  ASSERT_EQ(answer->others.size(), 2U);
  EXPECT_EQ(answer->others[0].key.step, 10);
  EXPECT_EQ(answer->others[1].key.step, 30);
}

TEST(Ranks, DevicesThatRanksShouldNotBeOn) {
  RanksMaker maker;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    Digest digest = Of(rank, 10);
    if (rank == 6) {
      digest.devices[0].device = 2;
    }
    if (rank == 4) {
      digest.devices.push_back({.name = "0", .device = 0, .peak = 800 * kAnswerMiB});
    }
    maker.Add(std::move(digest));
  }
  const auto answer = std::move(maker).Make({.identify = commands::IdentifyByNames()});
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->ranks[6].troubles.size(), 1U);
  EXPECT_EQ(answer->ranks[6].troubles[0].code, RankProblem::kWrongDevice);
  ASSERT_EQ(answer->ranks[4].troubles.size(), 1U);
  EXPECT_EQ(answer->ranks[4].troubles[0].code, RankProblem::kTwoDevices);
  EXPECT_TRUE(answer->ranks[1].troubles.empty());
}

}  // namespace
// What the capture library writes of the environment of a process.
TEST(RanksAnswer, ReadsWhatACaptureLogSays) {
  RanksMaker maker;
  for (int rank = 0; rank < 3; ++rank) {
    Digest digest = Of(rank, 10);
    digest.path = "logs/" + std::to_string(9 - rank) + ".mtcap";
    digest.rank = "SLURM_PROCID=" + std::to_string(rank) +
                  " world=4 local=" + std::to_string(rank % 2) +
                  " node=" + std::to_string(rank / 2);
    maker.Add(std::move(digest));
  }
  auto answer = std::move(maker).Make({.identify = commands::IdentifyByNames()});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->ranks.size(), 3U);
  EXPECT_EQ(answer->ranks[2].path, "logs/7.mtcap");
  EXPECT_EQ(answer->ranks[1].local_rank, 1);
  EXPECT_EQ(answer->ranks[2].node, 1);
  EXPECT_EQ(answer->ranks[2].how, IdentityHow::kContent);
  EXPECT_EQ(answer->set.missing, std::vector<std::int64_t>{3});
}

TEST(RanksAnswer, TakesNoNumbersFromNonsense) {
  for (const char* text : {"=", "= = =", "RANK=-1", "RANK=x world=", "RANK=99999999999999999999",
                           "RANK=1=2", "3 of", "-3 of 8", " 3"}) {
    RanksMaker maker;
    Digest digest = Of(0, 10);
    digest.path = "logs/a.mtcap";
    digest.rank = text;
    maker.Add(std::move(digest));
    auto answer = std::move(maker).Make({.identify = commands::IdentifyByNames()});
    ASSERT_TRUE(answer) << text;
    for (const RankFacts& rank : answer->ranks) {
      EXPECT_NE(rank.how, IdentityHow::kContent) << text;
    }
  }
}

}  // namespace memtool
