#include "memtool/formats/oom_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "memtool/formats/byte_window.h"
#include "oom_text/scan.h"
#include "support/files.h"
#include "support/oom_log.h"

namespace memtool::formats {
namespace {

constexpr std::string_view k23 =
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
    "total "
    "capacity of 15.90 GiB of which 1.08 GiB is free. Including non-PyTorch memory, this process "
    "has 14.81 GiB memory in use. Of the allocated memory 11.97 GiB is allocated by PyTorch, and "
    "2.30 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large "
    "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

TEST(OomText, Torch04SaysNothingButThatItHappened) {
  const OomLog log = test::MakeLog("torch_0.4.log");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].wording, OomWording::kNoFigures);
  EXPECT_EQ(log.messages[0].line, 10U);
  EXPECT_FALSE(log.messages[0].requested_bytes);
}

TEST(OomText, Torch10CallsFreeInTheAllocatorCached) {
  const OomMessage m = test::MakeLog("torch_1.0.log").messages.at(0);
  EXPECT_EQ(m.wording, OomWording::kTorchCached);
  EXPECT_EQ(m.gpu, 0);
  EXPECT_EQ(test::GetBytes(m.requested_bytes), 512 * test::kMiB);
  EXPECT_EQ(test::GetBytes(m.capacity), test::GiB(10.92));
  EXPECT_EQ(test::GetBytes(m.allocated), test::GiB(9.61));
  EXPECT_EQ(test::GetBytes(m.free), test::MiB(243.44));
  EXPECT_EQ(test::GetBytes(m.unallocated), test::MiB(604.50));
  EXPECT_FALSE(m.reserved);
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.requested_bytes->precision, 5243) << "half of the last digit, 0.005 MiB";
}

TEST(OomText, Torch113AfterProgressBars) {
  const OomLog log = test::MakeLog("torch_1.13.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_EQ(m.wording, OomWording::kTorchReserved);
  EXPECT_EQ(m.line, 10U);
  EXPECT_EQ(test::GetBytes(m.requested_bytes), test::GiB(1.99));
  EXPECT_EQ(test::GetBytes(m.capacity), test::GiB(23.56));
  EXPECT_EQ(test::GetBytes(m.allocated), test::GiB(14.73));
  EXPECT_EQ(test::GetBytes(m.free), test::GiB(1.23));
  EXPECT_EQ(test::GetBytes(m.reserved), test::GiB(21.12));
  EXPECT_EQ(m.advice, std::vector<std::string>{"max_split_size_mb"});
}

TEST(OomText, Torch20WithALimit) {
  const OomLog log = test::MakeLog("torch_2.0.log");
  ASSERT_EQ(log.found, 2U);
  EXPECT_EQ(log.messages[0].line, 2U);
  EXPECT_FALSE(log.messages[0].limit);
  const OomMessage& m = log.messages[1];
  EXPECT_EQ(m.gpu, 3);
  EXPECT_EQ(test::GetBytes(m.limit), test::GiB(4.77));
  EXPECT_EQ(test::GetBytes(m.reserved), test::GiB(4.76));
}

TEST(OomText, Torch23OfTwoRanks) {
  const OomLog log = test::MakeLog("torch_2.3.log");
  ASSERT_EQ(log.found, 2U);
  const OomMessage& first = log.messages[0];
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.gpu, 1);
  ASSERT_EQ(first.others.size(), 1U);
  EXPECT_EQ(first.others[0].pid, 1246069);
  EXPECT_EQ(test::GetBytes(first.others[0].used), 577 * test::kMiB);
  const OomMessage& m = log.messages[1];
  EXPECT_EQ(m.rank, 0);
  EXPECT_EQ(m.wording, OomWording::kTorchUnallocated);
  EXPECT_EQ(test::GetBytes(m.requested_bytes), 2 * test::kGiB);
  EXPECT_EQ(test::GetBytes(m.capacity), test::GiB(15.90));
  EXPECT_EQ(test::GetBytes(m.free), test::GiB(1.08));
  EXPECT_EQ(test::GetBytes(m.process), test::GiB(14.81));
  EXPECT_EQ(test::GetBytes(m.allocated), test::GiB(11.97));
  EXPECT_EQ(test::GetBytes(m.unallocated), test::GiB(2.30));
  EXPECT_EQ(m.advice, std::vector<std::string>{"expandable_segments"});
}

TEST(OomText, Torch28WithPrivatePools) {
  const OomLog log = test::MakeLog("torch_2.8.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(test::GetBytes(m.private_pools), test::GiB(1.17));
  EXPECT_EQ(test::GetBytes(m.allocated), test::GiB(21.40));
  EXPECT_EQ(test::GetBytes(m.unallocated), test::MiB(137.31));
  EXPECT_EQ(m.others.size(), 2U);
  EXPECT_FALSE(m.process);
}

TEST(OomText, WrappedLinesOfOneProcessAreOneMessage) {
  const OomLog log = test::MakeLog("torch_wrapped.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.line, 1U);
  EXPECT_EQ(m.rank, 2);
  EXPECT_EQ(m.gpu, 2);
  EXPECT_EQ(test::GetBytes(m.free), test::GiB(1.94));
  EXPECT_EQ(test::GetBytes(m.process), test::GiB(37.44));
  EXPECT_EQ(test::GetBytes(m.allocated), test::GiB(33.81));
  EXPECT_EQ(test::GetBytes(m.unallocated), test::GiB(2.65));
}

TEST(OomText, AFalseStartHidesNoMessageBehindIt) {
  const OomLog log = test::MakeLog("torch_two_in_a_line.log");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].line, 2U);
  EXPECT_EQ(test::GetBytes(log.messages[0].requested_bytes), 2 * test::kGiB);
  EXPECT_EQ(FindOoms("out of memory? no: CUDA out of memory. Tried to allocate 2.00 GiB").found,
            1U);
  EXPECT_EQ(FindOoms("CUDA out of memory. Tried to allocate 2.00 GiB; then CUDA out of memory. "
                     "Tried to allocate 3.00 GiB")
                .found,
            2U);
}

TEST(OomText, RetriesAreCountedAndAreNoFailure) {
  const OomLog log = test::MakeLog("torch_retries.log");
  EXPECT_EQ(log.found, 0U);
  EXPECT_EQ(log.retries, 2U);
  ASSERT_TRUE(log.last_retry);
  EXPECT_EQ(log.last_retry->line, 3U);
  EXPECT_EQ(test::GetBytes(log.last_retry->requested_bytes), 512 * test::kMiB);
  EXPECT_EQ(test::GetBytes(log.last_retry->free), 384 * test::kMiB);
  EXPECT_EQ(test::GetBytes(log.last_retry->capacity), 8 * test::kGiB);
  EXPECT_EQ(test::MakeLog("tf_no_failure.log").found, 0U);
  EXPECT_EQ(test::MakeLog("tf_no_failure.log").retries, 1U);
}

TEST(OomText, TheErrorBehindARetryTakesItsFigures) {
  for (const char* name : {"torch_jetson.log", "torch_expandable_assert.log"}) {
    const OomLog log = test::MakeLog(name);
    ASSERT_EQ(log.found, 1U) << name;
    EXPECT_EQ(log.messages[0].wording, OomWording::kTorchRetry) << name;
    EXPECT_EQ(test::GetBytes(log.messages[0].capacity), 8 * test::kGiB) << name;
  }
  const OomMessage jetson = test::MakeLog("torch_jetson.log").messages.at(0);
  EXPECT_EQ(jetson.line, 6U);
  EXPECT_EQ(test::GetBytes(jetson.requested_bytes), 448 * test::kMiB);
  EXPECT_EQ(test::GetBytes(jetson.free), 100 * test::kMiB);
  // From another process, or from long ago, they do not belong to it.
  const std::string warning =
      "[rank0]:[W] memory allocation failed with OOM on device 0 while trying to allocate 64 bytes "
      "(free: 32, total: 128)\n";
  EXPECT_EQ(FindOoms(warning + "[rank1]: CUDA error: out of memory").messages.at(0).wording,
            OomWording::kNoFigures);
  EXPECT_EQ(
      test::GetBytes(
          FindOoms(warning + "[rank0]: CUDA error: out of memory").messages.at(0).requested_bytes),
      64);
  EXPECT_FALSE(FindOoms(warning + std::string(100, '\n') + "[rank0]: CUDA error: out of memory")
                   .messages.at(0)
                   .requested_bytes);
}

TEST(OomText, WhatIsSaidTwiceIsOneMessage) {
  EXPECT_EQ(test::MakeLog("torch_cuda_log.log").found, 1U);
  EXPECT_EQ(FindOoms("cudaErrorMemoryAllocation").found, 1U);
  const OomLog llama = test::MakeLog("llama.log");
  ASSERT_EQ(llama.found, 1U);
  EXPECT_EQ(llama.messages[0].line, 2U);
  EXPECT_EQ(test::GetBytes(llama.messages[0].requested_bytes), 14822711296);
  EXPECT_EQ(llama.messages[0].requested_bytes->precision, 0);
}

TEST(OomText, AdviceThatIsLeftOut) {
  EXPECT_TRUE(test::MakeLog("torch_2.14.log").messages.at(0).no_advice);
  EXPECT_FALSE(test::MakeLog("torch_2.8.log").messages.at(0).no_advice) << "it is given";
  EXPECT_FALSE(test::MakeLog("torch_boxed.log").messages.at(0).no_advice) << "it may be cut off";
  EXPECT_TRUE(test::MakeLog("torch_reserve.log").messages.at(0).reserve_too_small);
  EXPECT_FALSE(test::MakeLog("torch_2.14.log").messages.at(0).reserve_too_small);
}

TEST(OomText, XlasPoolIsListedBelowItsMessage) {
  const OomLog log = FindOoms(
      "Limit: 5\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 1.00KiB (rounded to "
      "1024)\nnoise\nStats: \nLimit:   4096\nInUse:   3000\nMaxInUse:   4000\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(test::GetBytes(log.messages[0].requested_bytes), 1024);
  EXPECT_EQ(test::GetBytes(log.messages[0].limit), 4096);
  EXPECT_EQ(test::GetBytes(log.messages[0].allocated), 3000);
}

TEST(OomText, AttemptsOfAPoolToGrowAreRetries) {
  const std::string refused = " from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n";
  const std::string attempts = "failed to allocate 4.00GiB (4294967296 bytes)" + refused +
                               "failed to allocate 3.60GiB (3865470464 bytes)" + refused;
  const OomLog alone = FindOoms(attempts);
  ASSERT_EQ(alone.found, 1U);
  EXPECT_EQ(test::GetBytes(alone.messages[0].requested_bytes), 3'865'470'464) << "the last one";
  EXPECT_EQ(alone.retries, 1U);
  const OomLog failed =
      FindOoms(attempts + "[rank1]: failed to allocate 1.00GiB (1073741824 bytes)" + refused +
               "OOM when allocating tensor with shape[1024,256] and type float on x\n");
  ASSERT_EQ(failed.found, 2U) << "the other process has no failure but its attempt";
  EXPECT_EQ(failed.retries, 2U);
  ASSERT_TRUE(failed.last_retry);
  EXPECT_EQ(failed.last_retry->line, 2U);
  EXPECT_EQ(test::GetBytes(failed.messages[1].requested_bytes), 1024 * 256 * 4);
  EXPECT_TRUE(failed.messages[1].driver_refused);
  EXPECT_FALSE(failed.messages[0].driver_refused);
}

TEST(OomText, TensorFlowsErrorSaysAgainWhatItsAllocatorSaid) {
  const std::string warning =
      "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to "
      "1048576)requested by op a/b\n";
  const std::string error = "OOM when allocating tensor with shape[512,512] and type float on x\n";
  EXPECT_EQ(FindOoms(warning + error + error).found, 1U);
  EXPECT_EQ(FindOoms(warning + error + warning + error).found, 2U);
  EXPECT_EQ(FindOoms(warning + "OOM when allocating tensor with shape[9,512] and type float on x\n")
                .found,
            2U);
  // What the driver refused is no failure that another one could say again.
  EXPECT_EQ(FindOoms("failed to allocate 1.00MiB (1048576 bytes) from device: "
                     "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n" +
                     error)
                .found,
            1U);
}

TEST(OomText, ADeviceWrittenAsACharacter) {
  const OomLog log = FindOoms(
      "CUDA out of memory. Tried to allocate 2.00 GiB. GPU \x05 has a total capacity of 8.00 GiB "
      "of "
      "which 1.00 GiB is free. Of the allocated memory 6.00 GiB is allocated by PyTorch, and 0 "
      "bytes "
      "is reserved by PyTorch but unallocated.");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].gpu, 5);
  EXPECT_TRUE(log.messages[0].complete);
}

TEST(OomText, TalkOfItIsNoMessage) {
  for (const char* text :
       {"", "\n", "out of memory", "if 'CUDA out of memory' in str(e):\n",
        "CUDA out of memoryTried", "step 3: 12 out of memory banks\n", "failed to allocate port 80",
        "Failed to allocate request for X", "failed to allocate 12 KiB from disk",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate it",
        "Ran out of memory in memory space. Used 3"}) {
    EXPECT_EQ(FindOoms(text).found, 0U) << text;
  }
}

// Cut anywhere, a message never gains anything, and never shows a figure that it did not have.
TEST(OomText, CutOffMessages) {
  const OomMessage whole = FindOoms(k23).messages.at(0);
  for (std::size_t length = 0; length < k23.size(); ++length) {
    const OomLog log = FindOoms(k23.substr(0, length));
    ASSERT_LE(log.found, 1U);
    if (log.found == 0) {
      continue;
    }
    const OomMessage& cut = log.messages[0];
    for (const auto& [part, all] :
         {std::pair(cut.requested_bytes, whole.requested_bytes),
          std::pair(cut.capacity, whole.capacity), std::pair(cut.free, whole.free),
          std::pair(cut.process, whole.process), std::pair(cut.allocated, whole.allocated),
          std::pair(cut.unallocated, whole.unallocated)}) {
      ASSERT_TRUE(!part || part->bytes == all->bytes) << length;
    }
  }
}

// Found by fuzzing: a place that a later window has to look at was taken for one before the last
// hit, and the search began there again, for ever.
TEST(OomText, HitsAtTheEdgeOfAWindowEnd) {
  for (std::size_t gap = 240; gap < 330; ++gap) {
    const std::string log = std::string(256, '-') + "Out of memory" + std::string(gap, '-') +
                            "CUDA out of memory. Tried to allocate 2.00 GiB\n";
    EXPECT_EQ(FindOoms(log).found, 1U) << gap;
  }
}

TEST(OomText, HostileNumbers) {
  const OomLog log = FindOoms(
      "CUDA out of memory. Tried to allocate 99999999999999999999999.99 GiB (GPU "
      "99999999999999999999; 18446744073709551615 bytes total capacity; 1.00 GiB already "
      "allocated; -3.00 GiB free; 2.00 GiB reserved in total by PyTorch)\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_FALSE(log.messages[0].requested_bytes);
  EXPECT_FALSE(log.messages[0].gpu);
  EXPECT_FALSE(log.messages[0].capacity);
  EXPECT_FALSE(log.messages[0].free);
  EXPECT_FALSE(log.messages[0].complete);
}

TEST(OomText, ColoursAndUtf16AreSeenThrough) {
  EXPECT_EQ(
      test::GetBytes(
          FindOoms("\x1b[31mCUDA out of \x1b[1mmemory\x1b[0m. Tried to allocate 2.00 GiB. GPU")
              .messages.at(0)
              .requested_bytes),
      2 * test::kGiB);
  std::string wide = "\xFF\xFE";
  for (const char c : k23) {
    wide += c;
    wide += '\0';
  }
  EXPECT_EQ(test::GetBytes(FindOoms(wide).messages.at(0).free), test::GiB(1.08));
}

TEST(OomText, ManyMessagesKeepTheFirst) {
  std::string text;
  for (int i = 0; i < 12'000; ++i) {
    text += "CUDA out of memory. Tried to allocate " + std::to_string(i) + ".00 MiB\n";
  }
  const OomLog log = FindOoms(text);
  EXPECT_EQ(log.found, 12'000U);
  EXPECT_EQ(log.lines, 12'000U);
  ASSERT_EQ(log.messages.size(), 10'000U);
  EXPECT_EQ(test::GetBytes(log.messages.back().requested_bytes), 9'999 * test::kMiB);
  EXPECT_EQ(log.messages.front().line, 1U);
}

// 2026-11-22 08:10:41.123 is 1,795,335,041,123 ms after 1970.
TEST(OomText, TheTimeIsThatOfTheLastLineThatTellsOne) {
  const std::string message = "CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const auto time = [&](const std::string& before) {
    return FindOoms(before + message).messages.at(0).time;
  };
  constexpr std::int64_t kTime = 1'795'335'041'123'000'000;
  EXPECT_EQ(time("2026-11-22 08:10:41,123 ERROR "), kTime);
  EXPECT_EQ(time("[rank3]: 2026/11/22T08:10:41.123 step failed\nTraceback:\n"), kTime);
  // glog and syslog leave out the year: 1972-11-22 08:10:41.123 is 91,267,841,123 ms after 1970.
  constexpr std::int64_t kIn1972 = 91'267'841'123'000'000;
  EXPECT_EQ(time("E1122 08:10:41.123000 4711 bfc_allocator.cc:501] "), kIn1972);
  EXPECT_EQ(time("[rank3]: W1122 08:10:41.123 "), kIn1972);
  EXPECT_EQ(time("3: E1122 08:10:41.123 "), kIn1972);
  EXPECT_EQ(time("Nov 22 08:10:41.123 node7 python: "), kIn1972);
  EXPECT_EQ(time("Nov  2 08:10:41.123 node7 "), kIn1972 - 20LL * 86'400'000'000'000);
  EXPECT_EQ(time("E0000 00:00:1795335041.123000 4711 "), kTime);
  EXPECT_EQ(time("E1322 08:10:41.123 "), std::nullopt);
  EXPECT_EQ(time("Nov 31 08:10:41 "), std::nullopt);
  EXPECT_EQ(time("08:10:41 no date\n"), std::nullopt);
  EXPECT_EQ(time("2026-13-22 08:10:41 \n"), std::nullopt);
  EXPECT_EQ(time("2026-11-22 08:10:41\n" + std::string(300, '\n')), std::nullopt)
      << "too far above";
}

// A source that never ends a line: what is held stays bounded, messages in it are found.
class Endless : public Source {
 public:
  Endless(std::uint64_t size, std::size_t* most) : left_(size), most_(most) {}
  Result<std::size_t> Read(std::span<std::byte> to) override {
    *most_ = std::max(*most_, to.size());
    std::size_t wrote = 0;
    while (wrote < to.size() && left_ > 0) {
      to[wrote++] = static_cast<std::byte>(k23[at_++ % k23.size()]);
      --left_;
    }
    return wrote;
  }

 private:
  std::uint64_t left_;
  std::size_t* most_;
  std::size_t at_ = 0;
};

TEST(OomText, OneEndlessLine) {
  constexpr std::uint64_t kMessages = 100'000;
  std::size_t most = 0;
  ByteWindow window(std::make_unique<Endless>(kMessages * k23.size(), &most));
  const OomLog log = oom_text::ScanLog(window);
  EXPECT_EQ(log.bytes, kMessages * k23.size());
  EXPECT_EQ(log.found, kMessages) << "each once, at the borders of pieces too";
  EXPECT_LT(most, std::size_t{4} << 20U) << "room in the window's buffer";
}

// Any bytes: no crash, no endless loop, line numbers that rise.
TEST(OomText, NoiseWithPiecesOfMessages) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      const std::size_t from = random() % k23.size();
      text += k23.substr(from, random() % 200);
      text += static_cast<char>(random() % 256);
      text += random() % 3 == 0 ? "\n" : random() % 3 == 0 ? "\r" : "CUDA out of memory. ";
    }
    const OomLog log = FindOoms(text);
    EXPECT_EQ(log.bytes, text.size());
    for (std::size_t i = 1; i < log.messages.size(); ++i) {
      ASSERT_LE(log.messages[i - 1].line, log.messages[i].line);
    }
  }
}

}  // namespace
}  // namespace memtool::formats
