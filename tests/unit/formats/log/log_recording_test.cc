#include "log/log_recording.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "log/patterns.h"
#include "memtool/formats/oom_text.h"
#include "memtool/profile/account/ledger.h"
#include "memtool/profile/account/ledger_check.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/selection.h"

namespace memtool::formats::log {
namespace {

constexpr std::int64_t kMebi = 1048576;

Recording Read(std::string_view text) {
  auto recording = ToRecording(FindOoms(text).statements, {});
  EXPECT_TRUE(recording);
  return *std::move(recording);
}

// What each row holds at a moment, in MiB, rounded.
std::map<std::string, std::int64_t> RowsAt(const Recording& recording, std::string_view moment) {
  auto selection =
      Select(std::make_shared<const Recording>(recording), {.moment = *ParseMoment(moment)});
  EXPECT_TRUE(selection);
  std::map<std::string, std::int64_t> rows;
  for (const TopRow& row : Top(*std::move(selection)).rows) {
    if (row.flat > 0) {
      rows[std::string(row.name.view())] += (row.flat + kMebi / 2) / kMebi;
    }
  }
  return rows;
}

using Rows = std::map<std::string, std::int64_t>;

TEST(LogRecording, PartsAreRowsAndLaterLinesReplaceEarlierOnes) {
  const Recording recording = Read(
      "INFO 03-02 09:10:11 [gpu_model_runner.py:1] Model loading took 10.00 GiB memory and 1.0 "
      "seconds\n"
      "INFO 03-02 09:10:12 [gpu_worker.py:1] Available KV cache memory: 4.00 GiB\n"
      "INFO 03-02 09:10:13 [gpu_worker.py:1] Available KV cache memory: 5.00 GiB\n");
  EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"weights", 10240}, {"KV cache", 5120}}));
  EXPECT_EQ(recording.statements.size(), 3U);
  EXPECT_EQ(recording.metadata.format_display, "log of vLLM");
}

TEST(LogRecording, BuffersAddUpByDevice) {
  const Recording recording = Read(
      "load_tensors:   CPU_Mapped model buffer size =   100.00 MiB\n"
      "load_tensors:        CUDA0 model buffer size =  4000.00 MiB\n"
      "llama_kv_cache:      CUDA0 KV buffer size =   500.00 MiB\n"
      "llama_kv_cache:      CUDA0 KV buffer size =    20.00 MiB\n"
      "llama_kv_cache:      CUDA1 KV buffer size =   300.00 MiB\n");
  EXPECT_EQ(recording.history->traces.size(), 3U);  // two devices and the host
  EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"weights", 4000}, {"KV cache", 820}}));
}

TEST(LogRecording, ANewRunFreesWhatTheOneBeforeHeld) {
  for (const char* const text :
       {"INFO 05-02 10:00:01 llm_engine.py:237] Initializing an LLM engine (v0.6.6) with config\n"
        "INFO 05-02 10:00:20 model_runner.py:1] Loading model weights took 13.0000 GB\n"
        "INFO 05-02 10:04:00 llm_engine.py:237] Initializing an LLM engine (v0.6.6) with config\n"
        "INFO 05-02 10:04:09 model_runner.py:1] Loading model weights took 6.0000 GB\n",
        // The process has another number.
        "(EngineCore pid=10) INFO 05-02 10:00:20 [x.py:1] Model loading took 13.0 GiB memory and 1 "
        "seconds\n"
        "(EngineCore pid=20) INFO 05-02 10:04:09 [x.py:1] Model loading took 6.0 GiB memory and 1 "
        "seconds\n"}) {
    const Recording recording = Read(text);
    EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"weights", 6144}})) << text;
    EXPECT_EQ(RowsAt(recording, "peak"), (Rows{{"weights", 13312}})) << text;
  }
}

TEST(LogRecording, LevelsRiseAndFallByStage) {
  const Recording recording = Read(
      "[2026-03-02 10:00:00,123] [INFO] [utils.py:1:see_memory_usage] before step\n"
      "[2026-03-02 10:00:00,124] [INFO] [utils.py:2:see_memory_usage] MA 2.0 GB  Max_MA 2.0 GB  CA "
      "3.0 GB  Max_CA 3 GB \n"
      "[2026-03-02 10:00:01,123] [INFO] [utils.py:1:see_memory_usage] after forward\n"
      "[2026-03-02 10:00:01,124] [INFO] [utils.py:2:see_memory_usage] MA 5.0 GB  Max_MA 5.0 GB  CA "
      "6.0 GB  Max_CA 6 GB \n"
      "[2026-03-02 10:00:02,123] [INFO] [utils.py:1:see_memory_usage] after step\n"
      "[2026-03-02 10:00:02,124] [INFO] [utils.py:2:see_memory_usage] MA 2.5 GB  Max_MA 5.0 GB  CA "
      "6.0 GB  Max_CA 6 GB \n");
  EXPECT_EQ(RowsAt(recording, "peak"), (Rows{{"before step", 2048}, {"after forward", 3072}}));
  EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"before step", 2048}, {"after forward", 512}}));
  const HistoryIndex index(std::make_shared<const Recording>(recording));
  const TraceSummary& summary = index.summary(recording.history->traces.front());
  EXPECT_EQ(summary.peak_bytes, 5120 * kMebi);
  EXPECT_EQ(summary.reserved_peak_bytes, 6144 * kMebi);
  EXPECT_EQ(recording.history->marks.size(), 3U);
}

TEST(LogRecording, RanksAndRecordsInOneLine) {
  const Recording recording = Read(
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 100.00 | max allocated: 200.00 | "
      "reserved: 300.00 | "
      "max reserved: 300.00[Rank 8] (after 2 iterations) memory (MB) | allocated: 90.00 | max "
      "allocated: 190.00 | "
      "reserved: 290.00 | max reserved: 290.00\n");
  ASSERT_EQ(recording.history->traces.size(), 2U);
  EXPECT_EQ(recording.history->traces[0].name, "rank 0");
  EXPECT_EQ(recording.history->traces[1].name, "rank 8");
  EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"after 2 iterations", 190}}));
}

TEST(LogRecording, PlansAndSumsMakeNoRows) {
  const Recording recording = Read(
      "common_params_fit_impl: projected to use 5120 MiB of device memory vs. 11005 MiB of free "
      "device memory\n"
      "llama_kv_cache:      CUDA0 KV buffer size =   500.00 MiB\n"
      "llama_kv_cache: size =  500.00 MiB (  8192 cells,  28 layers,  1/1 seqs), K (f16):  250.00 "
      "MiB, V (f16):  250.00 MiB\n");
  EXPECT_EQ(RowsAt(recording, "end"), (Rows{{"KV cache", 500}}));
  const std::vector<LedgerCheck> checks = CheckLedger(recording);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_TRUE(checks[0].holds());
}

TEST(LogRecording, ALineThatNobodyKnowsIsKept) {
  const Recording recording = Read(
      "load_tensors:        CUDA0 model buffer size =  4000.00 MiB\n"
      "workspace of the backend takes 77.25 MiB of device memory\n"
      "downloading shard 3: 512 MB/s\n");
  ASSERT_EQ(recording.unread_lines.size(), 1U);
  EXPECT_EQ(recording.unread_lines[0].line, 2U);
}

// A line over 1 MiB comes in pieces that overlap.
TEST(StatementScan, WhatIsInALongLineCountsOnce) {
  constexpr int kCount = 60'000;
  std::string text;
  for (int i = 0; i < kCount; ++i) {
    text += "x] Available KV cache memory: 1.50 GiB ";
  }
  EXPECT_EQ(FindOoms(text + "\n").statements.found, kCount);
}

TEST(CheckLedger, ASumThatIsWrongDoesNotHold) {
  const Recording recording = Read(
      "INFO 08-21 10:29:12 x] Available KV cache memory: 21.00 GiB\n"
      "INFO 08-21 10:29:30 x] Free memory on device (43.70/44.39 GiB) on startup. Desired GPU "
      "memory utilization is "
      "(0.9, 39.95 GiB). Actual usage is 15.81 GiB for consumed memory (weights + non-torch), 1.40 "
      "GiB for peak "
      "activation, and 0.61 GiB for CUDAGraph memory.\n");
  const std::vector<LedgerCheck> checks = CheckLedger(recording);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_FALSE(checks[0].holds());  // 39.95 - 15.81 - 1.40 = 22.74
  EXPECT_NEAR(static_cast<double>(checks[0].computed), 22.74 * 1024 * kMebi, 2e7);
}

TEST(LedgerBefore, OfTheProcessThatTheMessageNames) {
  const OomLog log = FindOoms(
      "(Worker_TP0 pid=950) INFO 07-01 12:01:00 [x.py:1] Model loading took 13.0 GiB memory and 1 "
      "seconds\n"
      "(Worker_TP1 pid=951) INFO 07-01 12:01:00 [x.py:1] Model loading took 12.0 GiB memory and 1 "
      "seconds\n");
  const auto of = [&log](const LedgerOwner& owner, std::uint64_t line) {
    const auto ledger = LedgerBefore(log.statements.list, log.statements.strings, line, owner);
    return ledger ? ledger->sum() / kMebi / 1024 : -1;
  };
  EXPECT_EQ(of({.prefix = "(Worker_TP1 pid=951)", .rank = {}}, 9), 12);
  EXPECT_EQ(of({.prefix = {}, .rank = 1}, 9), 12);
  EXPECT_EQ(of({.prefix = {}, .rank = {}}, 9), 13);
  EXPECT_EQ(of({.prefix = {}, .rank = {}}, 0), -1);
}

}  // namespace
}  // namespace memtool::formats::log
