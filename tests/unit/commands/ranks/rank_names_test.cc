// Names of launchers and trainers, as they are written, and names that only look like them.
#include "ranks/names/rank_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ranks/names/rank_pattern.h"

namespace memtool::commands {
namespace {

// "rank 3, step 10, …": only the fields that are there, in this order.
std::string Text(const RankIdentity& identity) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  const auto number = [&add](const char* name, const std::optional<std::int64_t>& value) {
    if (value) {
      add(name + std::to_string(*value));
    }
  };
  number("rank=", identity.rank);
  number("local=", identity.local_rank);
  number("node=", identity.node);
  number("step=", identity.step);
  number("attempt=", identity.attempt);
  number("pid=", identity.pid);
  number("world=", identity.world);
  if (!identity.host.empty()) {
    add("host=" + identity.host);
  }
  if (!identity.role.empty()) {
    add("role=" + identity.role);
  }
  if (!identity.job.empty()) {
    add((identity.job_is_folder ? "folder=" : "job=") + identity.job);
  }
  if (identity.at_oom) {
    add("oom");
  }
  add(std::string(IdentityHowName(identity.how)));
  return text;
}

struct Name {
  const char* path;
  const char* expected;
};

class Names : public testing::TestWithParam<Name> {};

TEST_P(Names, AreUnderstood) {
  EXPECT_EQ(Text(IdentityFromPath(GetParam().path)), GetParam().expected) << GetParam().path;
}

constexpr Name kTorchtitan[] = {
    {"dump/memory_snapshot/iteration_10/rank3_memory_snapshot.pickle",
     "rank=3 step=10 folder=dump path"},
    {"dump/memory_snapshot/iteration_10_exit/rank3_memory_snapshot.pickle",
     "rank=3 step=10 folder=dump oom path"},
    {"dump/memory_snapshot/iteration_10/replica_2/rank0_memory_snapshot.pickle",
     "rank=0 step=10 role=replica_2 folder=dump path"},
    {"dump/profile_traces/iteration_20/rank12_trace.json", "rank=12 step=20 folder=dump path"},
    {"iteration_0_exit/rank3_memory_snapshot.pickle", "rank=3 step=0 oom path"},
    {"rank7_memory_snapshot_step_40.pickle", "rank=7 step=40 path"},
    {"out/memory_snapshot_rank5_step12.pkl", "rank=5 step=12 folder=out path"},
    {"step_3_rank_011.pickle", "rank=11 step=3 path"},
    {"policy_rank_4_training_step_7_1.pickle", "rank=4 step=7 role=policy path"},
    {"prof_memsnap_r6.pkl", "rank=6 path"},
    {"trace_rank9_trace.pickle", "rank=9 path"},
    {"run/comm_traces/rank_31", "rank=31 folder=run path"}};
INSTANTIATE_TEST_SUITE_P(Torchtitan, Names, testing::ValuesIn(kTorchtitan));

constexpr Name kTrainers[] = {
    {"oom_rank-17_snapshot.pickle", "rank=17 oom path"},
    {"memory_snapshot_train_time1758000000.25_pid4711_rank_2_snapshot.pickle",
     "rank=2 pid=4711 path"},
    {"save/20260301-1201/actor_rollout_rank3_pid99.pickle",
     "rank=3 pid=99 role=actor_rollout folder=save/20260301-1201 path"},
    {"save/oom_20260301-1201/critic_rank3_pid98.pickle",
     "rank=3 pid=98 role=critic folder=save oom path"},
    {"logs/memory_snapshot-rank21.pickle", "rank=21 folder=logs path"},
    {"run/torch_traces/rank2.15.memory_snapshot.pickle", "rank=2 step=15 folder=run path"},
    {"run/torch_traces/rank2_oom.pickle", "rank=2 folder=run oom path"},
    {"run/torch_traces/rank0.4.pt.trace.json", "rank=0 step=4 folder=run path"},
    {"out/memory_snapshot/oom_rank1.pickle", "rank=1 folder=out oom path"},
    {"out/memory_snapshot/snapshot_stop_step_rank1.pickle", "rank=1 folder=out path"},
    {"out/memory_snapshot/snapshot_train_end_rank1.pickle", "rank=1 folder=out path"},
    {"job/iteration_5/rank6_memory_snapshot.pickle", "rank=6 step=5 folder=job path"},
    {"snapshots/torchrec_rank_0.pickle", "rank=0 folder=snapshots path"},
    {"rank0of8.pickle", "rank=0 world=8 path"},
    {"a_world_size_64_rank_3.pickle", "rank=3 world=64 path"},
    {"runs/global_step_100/globalRank3.pickle", "rank=3 step=100 folder=runs path"}};
INSTANTIATE_TEST_SUITE_P(Trainers, Names, testing::ValuesIn(kTrainers));

constexpr Name kProfilers[] = {
    {"traces/gpu-node-7_12345.1700000000000000000.pt.trace.json",
     "pid=12345 host=gpu-node-7 folder=traces path"},
    {"rank_5.1700000000000.pt.trace.json.gz", "rank=5 path"},
    {"primus-exp-rank[6].1700000000000000000.pt.trace.json", "rank=6 path"},
    {"dp0_pp1_tp2_ep3_rank7.1700000000000.pt.trace.json.gz", "rank=7 path"},
    {"out/worker7_Jun_07_12_30_59.html", "host=worker7 folder=out path"},
    {"worker7_Jun_07_12_30_59.json.gz", "host=worker7 path"},
    {"log/plugins/profile/2026_03_01_12_00_00/t1v-n-w-0.xplane.pb",
     "host=t1v-n-w-0 folder=log/plugins/profile/2026_03_01_12_00_00 path"},
    {"log/plugins/profile/2026_03_01_12_00_00/host-9.trace.json.gz",
     "host=host-9 folder=log/plugins/profile/2026_03_01_12_00_00 path"},
    {"memory_30.prof", "step=30 none"},
    {"prof/memory9.prof", "step=9 folder=prof none"},
    {"~/.cache/torch/comm_lib_trace_rank_4", "rank=4 folder=~/.cache/torch path"},
    {"nccl_trace_rank_5", "rank=5 path"},
    {"hccl_trace_rank_6", "rank=6 path"}};
INSTANTIATE_TEST_SUITE_P(Profilers, Names, testing::ValuesIn(kProfilers));

constexpr Name kLaunchers[] = {
    {"logs/none_x7/attempt_1/3/stderr.log", "local=3 attempt=1 folder=logs/none_x7 path"},
    {"logs/none_x7/attempt_0/5/error.json", "local=5 attempt=0 folder=logs/none_x7 path"},
    {"trainer/torchrun/9/attempt_0/2/stdout.log", "local=2 attempt=0 role=trainer path"},
    {"trainer/node_3.log", "node=3 role=trainer path"},
    {"output/log/rank_2/error.log", "rank=2 folder=output/log path"},
    {"msrun_log/worker_6.log", "rank=6 path"},
    {"node_2/local_rank_3/dump.pickle", "local=3 node=2 path"},
    {"slurm-123.out", "job=123 none"},
    {"slurm-123_7.out", "rank=7 job=123 guess"},
    {"slurm-123_4_7.out", "rank=7 job=123_4 guess"},
    {"gpu-07_884211_13.err", "rank=13 host=gpu-07 job=884211 guess"},
    {"rank_12.out", "rank=12 path"},
    {"task_8.log", "rank=8 path"},
    {"runs/restart-2/rank3.log", "rank=3 attempt=2 folder=runs path"},
    {"node1\\rank_8\\mem.pickle", "rank=8 node=1 path"},
    {"j/gpu3/snapshot.pickle", "local=3 folder=j path"},
    // The last component counts.
    {"rank0/rank5.pickle", "rank=5 path"}};
INSTANTIATE_TEST_SUITE_P(Launchers, Names, testing::ValuesIn(kLaunchers));

class Lookalikes : public testing::TestWithParam<const char*> {};

TEST_P(Lookalikes, AreNoProcess) {
  const RankIdentity identity = IdentityFromPath(GetParam());
  EXPECT_FALSE(NamesProcess(identity)) << Text(identity);
  EXPECT_EQ(identity.how, IdentityHow::kNone);
}

constexpr const char* kLookalikes[] = {
    "snapshot.pickle", "frank0_notes", "crank3", "memory_0.prof", "memory9.prof",
    // beyond those of the reference
    "ranking_3.csv", "rank1st.txt", "rank_list_8.json", "ranks_0.txt", "lora_rank_16.pickle",
    "lora_r16.pickle", "deepseek_r1.pickle", "top_rank1_accuracy.json", "low_rank_8.pkl",
    "tp_rank_3.pickle", "mp_rank_00_model_states.pt", "dp_rank3.pkl", "rank1234567.pickle",
    "supernode5.log", "networker_3.log", "multi_gpu_8.pickle", "prank[2].txt", "rank-.pickle",
    "memory_trace_7.pickle", "stepper3/snapshot.pickle", "car3.pickle", "nodes_4/mem.pickle",
    "gpu8_bs32/snapshot.pickle", "zero_to_hero7.pickle", "", "/", "rank", "_r5",
    "run_20240101_3.log"};
INSTANTIATE_TEST_SUITE_P(All, Lookalikes, testing::ValuesIn(kLookalikes));

TEST(IdentityFromPath, FindsNoStepInCounts) {
  for (const char* path : {"max_steps_100/rank1.pickle", "warmup_step_50_rank1.pickle",
                           "micro_batch_4_rank1.pickle", "batch_size_8_rank1.pickle",
                           "timestepper4_rank1.pickle", "global_batch_512_rank1.pickle"}) {
    EXPECT_FALSE(IdentityFromPath(path).step) << path;
    EXPECT_EQ(IdentityFromPath(path).rank, 1) << path;
  }
}

TEST(IdentityFromPath, OrdersTimes) {
  const auto time = [](const char* path) { return IdentityFromPath(path).time.value_or(0); };
  EXPECT_LT(time("h_Jun_07_12_30_59.html"), time("h_Jun_07_12_31_00.html"));
  EXPECT_LT(time("h_Jun_30_12_30_59.html"), time("h_Dec_01_00_00_00.html"));
  EXPECT_EQ(time("h_1.1700000000000000000.pt.trace.json"), 1700000000000000000);
}

TEST(IdentityFromPath, SeesOomAsAWordOnly) {
  for (const char* path : {"zoom_rank1.pickle", "bloom/rank1.pickle", "rank1_exit.pickle"}) {
    EXPECT_FALSE(IdentityFromPath(path).at_oom) << path;
  }
  EXPECT_TRUE(IdentityFromPath("run/OOM/rank1.pickle").at_oom);
}

TEST(Combine, BelievesTheFirstAndNotesContradictions) {
  RankIdentity content;
  content.rank = 4;
  content.world = 8;
  content.how = IdentityHow::kContent;
  const RankIdentity path = IdentityFromPath("run/step_7/rank5_pid3.pickle");
  const RankIdentity both = Combine(content, path);
  EXPECT_EQ(Text(both), "rank=4 step=7 pid=3 world=8 folder=run content");
  ASSERT_EQ(both.conflicts.size(), 1);
  EXPECT_EQ(both.conflicts[0].field, IdentityField::kRank);
  EXPECT_EQ(both.conflicts[0].kept, "4");
  EXPECT_EQ(both.conflicts[0].other, "5");
}

// A log header knows host and pid, its name the rank: the rank's source is the name.
TEST(Combine, SaysWhoNamedTheRank) {
  RankIdentity content;
  content.host = "n1";
  content.pid = 12;
  content.how = IdentityHow::kContent;
  EXPECT_EQ(Text(Combine(content, IdentityFromPath("rank5.log"))), "rank=5 pid=12 host=n1 path");
  EXPECT_EQ(Text(Combine(content, IdentityFromPath("a.log"))), "pid=12 host=n1 content");
}

std::vector<RankIdentity> Guessed(const std::vector<std::string>& paths) {
  std::vector<RankIdentity> identities;
  std::transform(paths.begin(), paths.end(), std::back_inserter(identities), IdentityFromPath);
  GuessRanks(paths, identities);
  return identities;
}

TEST(GuessRanks, TakesTheOneNumberThatVaries) {
  const auto found = Guessed({"a/memory_trace_7.pickle", "a/memory_trace_10.pickle",
                              "a/memory_trace_8.pickle", "a/memory_trace_9.pickle"});
  EXPECT_EQ(Text(found[0]), "rank=7 folder=a guess");
  EXPECT_EQ(Text(found[1]), "rank=10 folder=a guess");
}

TEST(GuessRanks, TakesFoldersAndKeepsTheJobAbove) {
  const auto found = Guessed({"job/0/snapshot.pickle", "job/1/snapshot.pickle", "job/other.txt"});
  EXPECT_EQ(Text(found[1]), "rank=1 folder=job guess");
  EXPECT_EQ(Text(found[2]), "folder=job none");
}

TEST(GuessRanks, TakesEveryEighth) {
  EXPECT_EQ(Guessed({"snapshot_0.pickle", "snapshot_8.pickle", "snapshot_16.pickle"})[2].rank, 16);
}

TEST(GuessRanks, RefusesWhatCouldBeElse) {
  const std::vector<std::vector<std::string>> cases{
      {"a_1_2.pickle", "a_2_3.pickle"},                   // two numbers vary
      {"memory_trace_7.pickle"},                          // nothing varies
      {"memory_0.prof", "memory_1.prof"},                 // JAX: steps
      {"mem_100.pickle", "mem_200.pickle"},               // steps
      {"mem_0.pickle", "mem_5.pickle", "mem_10.pickle"},  // steps
      {"run1/s.pickle", "run2/s.pickle"},                 // runs
      {"seed0/s.pickle", "seed1/s.pickle"},               //
      {"s_v1.pickle", "s_v2.pickle"},                     //
      {"s_20240101.pickle", "s_20240102.pickle"},         // dates
      {"s_1.pickle", "s_01.pickle"},                      // the same twice
      {"iteration_0/s.pickle", "iteration_1/s.pickle"},   // steps with a name
      {"attempt_0/s.pickle", "attempt_1/s.pickle"},       //
      {"x.pickle", "y.pickle"},                           // no number
      {"m_0000000000000000000001.p", "m_0000000000000000000002.p"}};
  for (const auto& paths : cases) {
    for (const RankIdentity& identity : Guessed(paths)) {
      EXPECT_FALSE(identity.rank) << paths.front();
    }
  }
}

TEST(RankPattern, ReadsNamedGroups) {
  const auto pattern = RankPattern::Compile(R"(n(?P<node>\d+)/(?P<role>\w+)-(?P<rank>\d+)\.p)");
  ASSERT_TRUE(pattern);
  const auto found = pattern->Of("x/n3/actor-0012.p");
  ASSERT_TRUE(found);
  EXPECT_EQ(Text(*found), "rank=12 node=3 role=actor user");
  EXPECT_EQ(Text(*pattern->Of("other")), "none");
}

TEST(RankPattern, SaysWhatIsWrong) {
  const auto message = [](const char* text) {
    const auto pattern = RankPattern::Compile(text);
    return pattern ? std::string() : pattern.error().message;
  };
  EXPECT_NE(message("(?P<rank>").find("is not a regular expression"), std::string::npos);
  EXPECT_EQ(message("rank([0-9]+)"), "'rank([0-9]+)' has no named group");
  EXPECT_EQ(message("(?P<rang>.)"),
            "the group 'rang' of '(?P<rang>.)' is none of rank, local, node, step, attempt, pid, "
            "world, host, job, role");
  EXPECT_EQ(message("(?P<step>.)"),
            "no group of '(?P<step>.)' tells processes apart: rank, local, node, host or pid has "
            "to be among them");
  const auto pattern = RankPattern::Compile("(?P<rank>.+)x");
  EXPECT_EQ(pattern->Of("abx").error().message,
            "the group 'rank' of '(?P<rank>.+)x' matches 'ab' in 'abx', which is no number");
  EXPECT_FALSE(pattern->Of("99999999999999999999x"));
}

}  // namespace
}  // namespace memtool::commands
