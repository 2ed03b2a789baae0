#include "memtool/profile/ranks/rank_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ranks/names/rank_names.h"

namespace memtool {
namespace {

using Numbers = std::vector<std::int64_t>;
using Rows = std::vector<std::size_t>;

RankFile File(const std::string& path) {
  return {.path = path, .identity = commands::IdentityFromPath(path)};
}

std::vector<RankFile> JobFiles(const std::string& before, const std::string& after, Numbers ranks) {
  std::vector<RankFile> files;
  for (const std::int64_t rank : ranks) {
    files.push_back(File(before + std::to_string(rank) + after));
  }
  return files;
}

Numbers UpTo(std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(i);
  }
  return numbers;
}

Numbers GetRanks(const RankSet& set) {
  Numbers ranks;
  for (const RankMember& member : set.ranks) {
    ranks.push_back(member.rank);
  }
  return ranks;
}

void Append(std::vector<RankFile>& files, const std::vector<RankFile>& more) {
  files.insert(files.end(), more.begin(), more.end());
}

const RankSet& Chosen(const std::vector<RankSet>& sets, const SetChoice& choice = {}) {
  return sets[ChooseSet(sets, choice).value()];
}

TEST(GroupRanks, NeverMixesSteps) {
  auto files = JobFiles("d/iteration_10/rank", "_m.pickle", UpTo(8));
  Append(files, JobFiles("d/iteration_9/rank", "_m.pickle", UpTo(8)));
  const auto sets = GroupRanks(files);
  ASSERT_EQ(sets.size(), 2);
  EXPECT_EQ(sets[0].key.step, 9);
  EXPECT_EQ(sets[1].key.step, 10);
  EXPECT_EQ(GetRanks(sets[1]), UpTo(8));
  EXPECT_EQ(&Chosen(sets), &sets[1]);
  EXPECT_EQ(&Chosen(sets, {.step = 9}), &sets[0]);
  EXPECT_FALSE(ChooseSet(sets, {.step = 8}));
  EXPECT_EQ(ChooseSet(sets, {.step = 8}).error().hint, "steps: 9, 10; attempts: none");
  EXPECT_FALSE(ChooseSet({}, {}));
}

// A step that only ranks without memory wrote is not the one to show; one that lacks a rank is.
TEST(ChooseSet, TakesTheNewestStepThatMostRanksHave) {
  auto files = JobFiles("d/iteration_10/rank", "_m.pickle", UpTo(8));
  Append(files, JobFiles("d/iteration_20/rank", "_m.pickle", {0, 1, 2, 3, 4, 6, 7}));
  Append(files, JobFiles("d/iteration_20_exit/rank", "_m.pickle", {5, 6}));
  const auto sets = GroupRanks(files);
  ASSERT_EQ(sets.size(), 3);
  const RankSet& chosen = Chosen(sets);
  EXPECT_EQ(chosen.key.step, 20);
  EXPECT_FALSE(chosen.key.at_oom);
  EXPECT_EQ(chosen.missing, Numbers{5});
  EXPECT_EQ(chosen.missing_count, 1);
}

TEST(ChooseSet, TakesTheLargestJobAndTheFirstRole) {
  auto files = JobFiles("a/rank", "_actor.pickle", UpTo(4));
  Append(files, JobFiles("a/rank", "_critic.pickle", UpTo(4)));
  Append(files, JobFiles("b/rank", ".pickle", UpTo(3)));
  const auto sets = GroupRanks(files);
  EXPECT_EQ(Chosen(sets).key.job, "a");
  EXPECT_EQ(Chosen(sets).key.role, "actor");
  EXPECT_EQ(Chosen(sets, {.role = "critic"}).key.role, "critic");
  EXPECT_EQ(Chosen(sets, {.job = "b"}).ranks.size(), 3);
}

TEST(GroupRanks, CountsMissingRanksAgainstWorldAndOtherSteps) {
  auto files = JobFiles("rank", ".pickle", {0, 1, 3});
  for (RankFile& file : files) {
    file.identity.world = 6;
  }
  const auto reported = GroupRanks(files);
  EXPECT_EQ(reported[0].missing, (Numbers{2, 4, 5}));
  EXPECT_EQ(reported[0].expected_from, ExpectedFrom::kWorld);
  auto steps = JobFiles("step_1/rank", ".pickle", UpTo(4));
  Append(steps, JobFiles("step_2/rank", ".pickle", {0, 1}));
  EXPECT_EQ(GroupRanks(steps)[1].missing, (Numbers{2, 3}));
}

// Numbers of hostile names cost no memory.
TEST(GroupRanks, LimitsMissingRanks) {
  auto files = JobFiles("rank", ".pickle", {0});
  files[0].identity.rank = std::int64_t{1} << 62U;
  files[0].identity.world = INT64_MAX;
  const auto sets = GroupRanks(files);
  EXPECT_EQ(sets[0].missing.size(), kMaxMissing);
  EXPECT_EQ(sets[0].missing_count, std::int64_t{1} << 31U);
}

TEST(GroupRanks, SurvivesAnyNumbers) {
  std::vector<RankFile> files(6, File("x.pickle"));
  files[0].identity.rank = INT64_MIN;
  files[1].identity.node = INT64_MAX;
  files[1].identity.local_rank = INT64_MAX;
  files[2].identity.node = INT64_MIN;
  files[2].identity.local_rank = INT64_MIN;
  files[3].identity.local_rank = -1;
  files[3].devices = {INT64_MIN, INT64_MAX};
  files[4].identity.world = INT64_MIN;
  files[5].identity.pid = INT64_MIN;
  EXPECT_EQ(GroupRanks(files)[0].without_rank.size(), 6);
  files[0].identity.rank = {};
  EXPECT_EQ(GroupRanks(files)[0].ranks.size(), 1);
}

TEST(GroupRanks, FindsARankTwice) {
  std::vector<RankFile> files{File("x_rank0_pid7.pickle"), File("x_rank0_pid8.pickle"),
                              File("x_rank1_pid9.pickle"), File("y_rank1_pid9.pickle")};
  const auto sets = GroupRanks(files);
  ASSERT_EQ(sets[0].doubles.size(), 2);
  EXPECT_EQ(sets[0].doubles[0].reason, DoubleReason::kProcesses);
  EXPECT_EQ(sets[0].doubles[0].others, Rows{1});
  EXPECT_EQ(sets[0].doubles[1].reason, DoubleReason::kUnknown);
  EXPECT_EQ(sets[0].ranks[1].file, 2);
}

TEST(GroupRanks, PrefersTheNewestFileThatCanBeRead) {
  std::vector<RankFile> files{File("rank_0.1700000000001.pt.trace.json"),
                              File("rank_0.1700000000003.pt.trace.json"),
                              File("rank_0.1700000000002.pt.trace.json")};
  files[1].problem = FileProblem::kCutOff;
  const auto sets = GroupRanks(files);
  EXPECT_EQ(sets[0].ranks[0].file, 2);
  EXPECT_EQ(sets[0].doubles[0].reason, DoubleReason::kTimes);
  EXPECT_EQ(sets[0].doubles[0].others, (Rows{0, 1}));
  EXPECT_EQ(sets[0].problems, Rows{1});
}

TEST(GroupRanks, FindsEqualContent) {
  auto files = JobFiles("rank", ".pickle", UpTo(5));
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].content = ContentHash{i == 4 ? 1 : i, 0};
  }
  files[2].problem = FileProblem::kEmpty;
  files[3].problem = FileProblem::kEmpty;
  files[3].content = files[2].content;
  const auto sets = GroupRanks(files);
  ASSERT_EQ(sets[0].same_content.size(), 1);
  EXPECT_EQ(sets[0].same_content[0], (Rows{1, 4}));
  EXPECT_TRUE(sets[0].missing.empty());  // an empty file is there
  EXPECT_EQ(sets[0].problems, (Rows{2, 3}));
}

// Ranks 1 to 7 made their first context on device 0.
TEST(GroupRanks, FindsTheSecondDevice) {
  auto files = JobFiles("rank", ".pickle", UpTo(16));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto own = static_cast<std::int64_t>(i % 8);
    files[i].devices = {own};
    if (i > 0 && i < 8) {
      files[i].devices = {0, own};
    }
  }
  const auto sets = GroupRanks(files);
  EXPECT_EQ(sets[0].per_node, 8);
  ASSERT_EQ(sets[0].wrong_devices.size(), 7);
  EXPECT_EQ(sets[0].wrong_devices[2].rank, 3);
  EXPECT_EQ(sets[0].wrong_devices[2].expected, 3);
  EXPECT_EQ(sets[0].wrong_devices[2].others, Numbers{0});
}

TEST(GroupRanks, FindsAWrongDeviceOnlyWhereOthersAreRight) {
  auto files = JobFiles("rank", ".pickle", UpTo(8));
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].devices = {static_cast<std::int64_t>(i % 4)};
  }
  files[5].devices = {2};
  ASSERT_EQ(GroupRanks(files)[0].wrong_devices.size(), 1);
  EXPECT_EQ(GroupRanks(files)[0].wrong_devices[0].rank, 5);
  EXPECT_EQ(GroupRanks(files)[0].wrong_devices[0].expected, 1);
  for (RankFile& file : files) {  // each sees one device
    file.devices = {0};
  }
  EXPECT_TRUE(GroupRanks(files)[0].wrong_devices.empty());
  for (std::size_t i = 0; i < files.size(); ++i) {  // placed in an order of its own
    files[i].devices = {static_cast<std::int64_t>(7 - i)};
  }
  EXPECT_TRUE(GroupRanks(files)[0].wrong_devices.empty());
}

TEST(GroupRanks, WorksRanksOutFromNodes) {
  std::vector<RankFile> files;
  for (int node = 0; node < 2; ++node) {
    for (int local = 0; local < 4; ++local) {
      files.push_back(File("node_" + std::to_string(node) + "/local_rank_" + std::to_string(local) +
                           "/m.pickle"));
    }
  }
  const auto sets = GroupRanks(files);
  ASSERT_EQ(sets.size(), 1);
  EXPECT_EQ(GetRanks(sets[0]), UpTo(8));
  EXPECT_EQ(sets[0].ranks[6].rule, RankRule::kNodeAndLocal);
}

TEST(GroupRanks, NumbersHostsInOrder) {
  std::vector<RankFile> files{File("s/w-10.xplane.pb"), File("s/w-9.xplane.pb"),
                              File("s/w-1.xplane.pb")};
  const auto sets = GroupRanks(files);
  EXPECT_EQ(sets[0].ranks[0].file, 2);
  EXPECT_EQ(sets[0].ranks[2].file, 0);
  EXPECT_EQ(sets[0].ranks[2].rule, RankRule::kHostAndPid);
}

TEST(GroupRanks, KeepsFilesOfNobody) {
  const auto sets = GroupRanks(std::vector{File("j/snapshot.pickle"), File("j/rank0.pickle")});
  ASSERT_EQ(sets.size(), 1);
  EXPECT_EQ(sets[0].without_rank, Rows{0});
}

TEST(GroupRanks, JoinsFoldersThatHoldOtherRanks) {
  auto files = JobFiles("save/20260301-1201/actor_rank", ".pickle", {0, 2});
  Append(files, JobFiles("save/20260301-1202/actor_rank", ".pickle", {1, 3}));
  auto sets = GroupRanks(files);
  ASSERT_EQ(sets.size(), 1);
  EXPECT_EQ(sets[0].key.job, "save");
  EXPECT_EQ(sets[0].folders, 2);
  EXPECT_EQ(GetRanks(sets[0]), UpTo(4));
  Append(files, JobFiles("save/20260301-1203/actor_rank", ".pickle", {3}));  // another run
  EXPECT_EQ(GroupRanks(files).size(), 3);
}

std::string Print(const std::vector<RankFile>& files, const std::vector<RankSet>& sets) {
  std::string text;
  const auto add = [&](const Rows& rows) {
    for (const std::size_t row : rows) {
      text += files[row].path + ",";
    }
    text += ";";
  };
  for (const RankSet& set : sets) {
    text += set.key.job + "/" + std::to_string(set.key.step.value_or(-1)) + set.key.role + ":";
    for (const RankMember& member : set.ranks) {
      text += std::to_string(member.rank) + "=" + files[member.file].path + " ";
    }
    for (const DoubleRank& twice : set.doubles) {
      add(twice.others);
    }
    for (const Rows& same : set.same_content) {
      add(same);
    }
    add(set.without_rank);
    add(set.problems);
  }
  return text + std::to_string(ChooseSet(sets, {}).value());
}

// Every file is in exactly one place, and the order of the files makes no difference.
TEST(GroupRanks, LosesNothingInAnyOrder) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    std::vector<RankFile> files;
    for (std::size_t i = 0; i < 40; ++i) {
      std::string path = random() % 2 == 0 ? "a/" : "b/";
      path += random() % 2 == 0 ? "step_1/" : random() % 2 == 0 ? "step_2/" : "";
      path +=
          random() % 8 != 0 ? "rank" + std::to_string(random() % 8) : "node" + std::to_string(i);
      path += random() % 4 == 0 ? "_critic" : "";
      RankFile& file = files.emplace_back(File(path + "_pid" + std::to_string(i) + ".pickle"));
      file.content = ContentHash{random() % 20, 0};
      file.problem = random() % 9 == 0 ? FileProblem::kCutOff : FileProblem::kNone;
    }
    const auto sets = GroupRanks(files);
    Rows seen;
    for (const RankSet& set : sets) {
      seen.insert(seen.end(), set.without_rank.begin(), set.without_rank.end());
      for (const RankMember& member : set.ranks) {
        seen.push_back(member.file);
      }
      for (const DoubleRank& twice : set.doubles) {
        seen.insert(seen.end(), twice.others.begin(), twice.others.end());
      }
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), files.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i], i);
    }
    const std::string before = Print(files, sets);
    std::shuffle(files.begin(), files.end(), random);
    ASSERT_EQ(Print(files, GroupRanks(files)), before);
  }
}

}  // namespace
}  // namespace memtool
