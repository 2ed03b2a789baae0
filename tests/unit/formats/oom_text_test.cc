#include "memtool/formats/oom_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "memtool/formats/byte_window.h"
#include "oom_text/scan.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

std::int64_t MiB(double value) {
  return static_cast<std::int64_t>(value * static_cast<double>(kMiB) + 0.5);
}
std::int64_t GiB(double value) {
  return static_cast<std::int64_t>(value * static_cast<double>(kGiB) + 0.5);
}
std::int64_t Bytes(const std::optional<OomNumber>& number) {
  return number ? number->bytes : -1;
}

OomLog LogOf(const std::string& name) {
  const auto bytes = test::TestFile("oom_text/" + name);
  return FindOoms(test::AsView(bytes));
}

constexpr std::string_view k23 =
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
    "total "
    "capacity of 15.90 GiB of which 1.08 GiB is free. Including non-PyTorch memory, this process "
    "has 14.81 GiB memory in use. Of the allocated memory 11.97 GiB is allocated by PyTorch, and "
    "2.30 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large "
    "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

TEST(OomText, Torch04SaysNothingButThatItHappened) {
  const OomLog log = LogOf("torch_0.4.log");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].wording, OomWording::kNoFigures);
  EXPECT_EQ(log.messages[0].line, 10U);
  EXPECT_FALSE(log.messages[0].asked);
}

TEST(OomText, Torch10CallsFreeInTheAllocatorCached) {
  const OomMessage m = LogOf("torch_1.0.log").messages.at(0);
  EXPECT_EQ(m.wording, OomWording::kTorchCached);
  EXPECT_EQ(m.gpu, 0);
  EXPECT_EQ(Bytes(m.asked), 512 * kMiB);
  EXPECT_EQ(Bytes(m.capacity), GiB(10.92));
  EXPECT_EQ(Bytes(m.allocated), GiB(9.61));
  EXPECT_EQ(Bytes(m.free), MiB(243.44));
  EXPECT_EQ(Bytes(m.unallocated), MiB(604.50));
  EXPECT_FALSE(m.reserved);
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.asked->precision, 5243) << "half of the last digit, 0.005 MiB";
}

TEST(OomText, Torch113AfterProgressBars) {
  const OomLog log = LogOf("torch_1.13.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_EQ(m.wording, OomWording::kTorchReserved);
  EXPECT_EQ(m.line, 10U);
  EXPECT_EQ(Bytes(m.asked), GiB(1.99));
  EXPECT_EQ(Bytes(m.capacity), GiB(23.56));
  EXPECT_EQ(Bytes(m.allocated), GiB(14.73));
  EXPECT_EQ(Bytes(m.free), GiB(1.23));
  EXPECT_EQ(Bytes(m.reserved), GiB(21.12));
  EXPECT_EQ(m.advice, std::vector<std::string>{"max_split_size_mb"});
}

TEST(OomText, Torch20WithALimit) {
  const OomLog log = LogOf("torch_2.0.log");
  ASSERT_EQ(log.found, 2U);
  EXPECT_EQ(log.messages[0].line, 2U);
  EXPECT_FALSE(log.messages[0].limit);
  const OomMessage& m = log.messages[1];
  EXPECT_EQ(m.gpu, 3);
  EXPECT_EQ(Bytes(m.limit), GiB(4.77));
  EXPECT_EQ(Bytes(m.reserved), GiB(4.76));
}

TEST(OomText, Torch23OfTwoRanks) {
  const OomLog log = LogOf("torch_2.3.log");
  ASSERT_EQ(log.found, 2U);
  const OomMessage& first = log.messages[0];
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.gpu, 1);
  ASSERT_EQ(first.others.size(), 1U);
  EXPECT_EQ(first.others[0].pid, 1246069);
  EXPECT_EQ(Bytes(first.others[0].used), 577 * kMiB);
  const OomMessage& m = log.messages[1];
  EXPECT_EQ(m.rank, 0);
  EXPECT_EQ(m.wording, OomWording::kTorchUnallocated);
  EXPECT_EQ(Bytes(m.asked), 2 * kGiB);
  EXPECT_EQ(Bytes(m.capacity), GiB(15.90));
  EXPECT_EQ(Bytes(m.free), GiB(1.08));
  EXPECT_EQ(Bytes(m.process), GiB(14.81));
  EXPECT_EQ(Bytes(m.allocated), GiB(11.97));
  EXPECT_EQ(Bytes(m.unallocated), GiB(2.30));
  EXPECT_EQ(m.advice, std::vector<std::string>{"expandable_segments"});
}

TEST(OomText, Torch28WithPrivatePools) {
  const OomLog log = LogOf("torch_2.8.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(Bytes(m.private_pools), GiB(1.17));
  EXPECT_EQ(Bytes(m.allocated), GiB(21.40));
  EXPECT_EQ(Bytes(m.unallocated), MiB(137.31));
  EXPECT_EQ(m.others.size(), 2U);
  EXPECT_FALSE(m.process);
}

TEST(OomText, WrappedLinesOfOneProcessAreOneMessage) {
  const OomLog log = LogOf("torch_wrapped.log");
  ASSERT_EQ(log.found, 1U);
  const OomMessage& m = log.messages[0];
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.line, 1U);
  EXPECT_EQ(m.rank, 2);
  EXPECT_EQ(m.gpu, 2);
  EXPECT_EQ(Bytes(m.free), GiB(1.94));
  EXPECT_EQ(Bytes(m.process), GiB(37.44));
  EXPECT_EQ(Bytes(m.allocated), GiB(33.81));
  EXPECT_EQ(Bytes(m.unallocated), GiB(2.65));
}

TEST(OomText, XlaSaysWhatWasAsked) {
  const OomLog log = LogOf("xla.log");
  ASSERT_EQ(log.found, 2U);
  EXPECT_EQ(Bytes(log.messages[0].asked), 2441334272);
  EXPECT_EQ(Bytes(log.messages[1].asked), 2441334240);
  EXPECT_EQ(log.messages[1].asked->precision, 0);
}

TEST(OomText, HipLimitBeforeWhatIsAllocated) {
  const OomLog log = FindOoms(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total "
      "capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated "
      "memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools "
      "(e.g., "
      "HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].kind, "HIP");
  EXPECT_EQ(Bytes(log.messages[0].limit), GiB(1.05));
  EXPECT_EQ(Bytes(log.messages[0].private_pools), 17 * kMiB);
  EXPECT_TRUE(log.messages[0].complete);
}

TEST(OomText, WordsOfOthers) {
  struct Case {
    std::string_view text;
    OomWording wording;
    std::string_view kind;
    std::int64_t asked;
    std::int64_t capacity;
    int gpu;  // -1 = none
  };
  for (const auto& [text, wording, kind, asked, capacity, gpu] : {
           Case{"Failed to allocate request for 2.27GiB (2441334240B) on device ordinal 3",
                OomWording::kXla, "XLA", 2441334240, -1, 3},
           {"failed to allocate 2.27GiB (2441334272 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: "
            "out of memory",
            OomWording::kXla, "XLA", 2441334272, -1, -1},
           {"Ran out of memory in memory space vmem. Used 20.95M of 16.00M vmem.",
            OomWording::kXlaHbm, "vmem", MiB(20.95), 16 * kMiB, -1},
           {"OOM when allocating tensor with shape[64,56,56,256] and type half on "
            "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc",
            OomWording::kTensorFlow, "", std::int64_t{64} * 56 * 56 * 256 * 2, -1, 1},
           {"OOM when allocating tensor with shape[99999999999,99999999999] and type float on x",
            OomWording::kTensorFlow, "", -1, -1, -1},
           {"OOM when allocating tensor with shape[2] and type resource on x",
            OomWording::kTensorFlow, "", -1, -1, -1},
           {"DefaultCPUAllocator: not enough memory: you tried to allocate 4096 bytes.",
            OomWording::kHost, "CPU", 4096, -1, -1},
           {"Out of memory: Killed process 7 (python)", OomWording::kHost, "kernel", -1, -1, -1},
           {"NCCL WARN Cuda failure 'out of memory'", OomWording::kNoFigures, "NCCL", -1, -1, -1},
           {"CUDNN_STATUS_ALLOC_FAILED", OomWording::kNoFigures, "cuDNN", -1, -1, -1},
           {"MPS backend out of memory (MPS allocated: 1.00 GB, other allocations: 1.10 MB, max "
            "allowed: 2.00 GB). Tried to allocate 3.00 KB on private pool.",
            OomWording::kTorchMps, "MPS", 3 * 1024, -1, -1},
       }) {
    const OomLog log = FindOoms(text);
    ASSERT_EQ(log.found, 1U) << text;
    const OomMessage& message = log.messages[0];
    EXPECT_EQ(message.wording, wording) << text;
    EXPECT_EQ(message.kind, kind) << text;
    EXPECT_EQ(Bytes(message.asked), asked) << text;
    EXPECT_EQ(Bytes(message.capacity), capacity) << text;
    EXPECT_EQ(message.gpu.value_or(-1), gpu) << text;
  }
}

TEST(OomText, WordsOf2026) {
  struct Case {
    std::string_view text;
    OomWording wording;
    std::string_view kind;
    std::int64_t asked;
    std::int64_t free;
    std::int64_t capacity;
    int gpu;  // -1 = none
  };
  for (const auto& [text, wording, kind, asked, free, capacity, gpu] : {
           Case{"MTIA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of "
                "16.00 GiB of which 512.00 MiB is free.",
                OomWording::kTorchUnallocated, "MTIA", GiB(1.5), MiB(512), 16 * kGiB, 2},
           {"PrivateUse1 out of memory. Tried to allocate 3.00 MiB", OomWording::kTorchUnallocated,
            "PrivateUse1", MiB(3), -1, -1, -1},
           {"We ran out of memory. Tried to allocate 1.00 GiB of it", OomWording::kNoFigures, "",
            -1, -1, -1, -1},
           {"NPU out of memory. NPUWorkspaceAllocator tried to allocate 3.00 GiB(NPU 5; 60.00 GiB "
            "total capacity; 1.50 GiB free)",
            OomWording::kLibrary, "NPU", 3 * kGiB, GiB(1.5), 60 * kGiB, 5},
           {"TPU TensorCore Hbm usage: 34.50G, SparseCore Hbm usage 174.00G, exceeding available "
            "bytes: 95.50G",
            OomWording::kXlaHbm, "hbm", GiB(208.5), -1, GiB(95.5), -1},
           {"total memory required for HLO temporaries (20.50G) exceeds available HBM (15.50G)",
            OomWording::kXlaHbm, "hbm", GiB(20.5), -1, GiB(15.5), -1},
           {"Ran out of memory in memory space vmem while allocating on stack. Scoped allocation "
            "with size 32.00M and limit 16.00M exceeded",
            OomWording::kXlaScoped, "scoped vmem", 32 * kMiB, -1, 16 * kMiB, -1},
           {"Allocation (size=33554432) would exceed memory (size=16777216) :: #2 [space=vmem]",
            OomWording::kXlaScoped, "vmem", 32 * kMiB, -1, 16 * kMiB, -1},
           {"std::bad_alloc: out_of_memory: CUDA error (failed to allocate 1024 bytes) at: "
            "/a/b.hpp:62: cudaErrorMemoryAllocation out of memory",
            OomWording::kLibrary, "RMM", 1024, -1, -1, -1},
           {"Out of memory allocating 1,073,741,824 bytes (allocated so far: 12 bytes).",
            OomWording::kLibrary, "CuPy", kGiB, -1, -1, -1},
           {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 100.00 MiB on device 1: "
            "cudaMalloc failed: out of memory",
            OomWording::kLibrary, "llama.cpp", 100 * kMiB, -1, -1, 1},
           {"ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711296",
            OomWording::kLibrary, "llama.cpp", 14822711296, -1, -1, 0},
           {"Free memory on device (67.25/79.25 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.33 GiB).",
            OomWording::kVllm, "vLLM", GiB(71.33), GiB(67.25), GiB(79.25), -1},
           {"No available memory for the cache blocks. Try", OomWording::kNoFigures, "vLLM", -1, -1,
            -1, -1},
       }) {
    const OomLog log = FindOoms(text);
    const bool none = wording == OomWording::kNoFigures && kind.empty();
    ASSERT_EQ(log.found, none ? 0U : 1U) << text;
    if (none) {
      continue;
    }
    const OomMessage& message = log.messages[0];
    EXPECT_EQ(message.wording, wording) << text;
    EXPECT_EQ(message.kind, kind) << text;
    EXPECT_EQ(Bytes(message.asked), asked) << text;
    EXPECT_EQ(Bytes(message.free), free) << text;
    EXPECT_EQ(Bytes(message.capacity), capacity) << text;
    EXPECT_EQ(message.gpu.value_or(-1), gpu) << text;
  }
}

TEST(OomText, VllmsCacheIsLargerThanWhatIsLeftForIt) {
  const OomMessage m = LogOf("vllm_cache.log").messages.at(0);
  EXPECT_EQ(Bytes(m.asked), GiB(23.25));
  EXPECT_EQ(Bytes(m.limit), GiB(22.5));
}

TEST(OomText, ATpuSaysWhatIsFreeAndHowLargeThePieces) {
  const OomMessage buffer = LogOf("xla_tpu_buffer.log").messages.at(0);
  EXPECT_EQ(buffer.wording, OomWording::kXlaTpu);
  EXPECT_EQ(Bytes(buffer.asked), 8 * kMiB);
  EXPECT_EQ(Bytes(buffer.free), MiB(6.5));
  EXPECT_FALSE(buffer.largest);
  EXPECT_EQ(buffer.chip, "0x0x1_HBM0");
  const OomMessage pieces = LogOf("xla_tpu_pieces.log").messages.at(0);
  EXPECT_EQ(Bytes(pieces.free), 2 * kGiB);
  EXPECT_EQ(Bytes(pieces.largest), 384 * kMiB);
  EXPECT_EQ(pieces.chip, "1x0x0_HBM0");
  const OomMessage program = LogOf("xla_tpu_program.log").messages.at(0);
  EXPECT_EQ(Bytes(program.asked), GiB(5.5));
  EXPECT_EQ(Bytes(program.free), 14 * kGiB);
  EXPECT_EQ(Bytes(program.largest), GiB(4.5));
  EXPECT_EQ(FindOoms("Attempting to allocate 8.00M of it").found, 0U);
}

TEST(OomText, AFalseStartHidesNoMessageBehindIt) {
  const OomLog log = LogOf("torch_two_in_a_line.log");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].line, 2U);
  EXPECT_EQ(Bytes(log.messages[0].asked), 2 * kGiB);
  EXPECT_EQ(FindOoms("out of memory? no: CUDA out of memory. Tried to allocate 2.00 GiB").found,
            1U);
  EXPECT_EQ(FindOoms("CUDA out of memory. Tried to allocate 2.00 GiB; then CUDA out of memory. "
                     "Tried to allocate 3.00 GiB")
                .found,
            2U);
}

TEST(OomText, RetriesAreCountedAndAreNoFailure) {
  const OomLog log = LogOf("torch_retries.log");
  EXPECT_EQ(log.found, 0U);
  EXPECT_EQ(log.retries, 2U);
  ASSERT_TRUE(log.last_retry);
  EXPECT_EQ(log.last_retry->line, 3U);
  EXPECT_EQ(Bytes(log.last_retry->asked), 512 * kMiB);
  EXPECT_EQ(Bytes(log.last_retry->free), 384 * kMiB);
  EXPECT_EQ(Bytes(log.last_retry->capacity), 8 * kGiB);
  EXPECT_EQ(LogOf("tf_no_failure.log").found, 0U);
  EXPECT_EQ(LogOf("tf_no_failure.log").retries, 1U);
}

TEST(OomText, TheErrorBehindARetryTakesItsFigures) {
  for (const char* name : {"torch_jetson.log", "torch_expandable_assert.log"}) {
    const OomLog log = LogOf(name);
    ASSERT_EQ(log.found, 1U) << name;
    EXPECT_EQ(log.messages[0].wording, OomWording::kTorchRetry) << name;
    EXPECT_EQ(Bytes(log.messages[0].capacity), 8 * kGiB) << name;
  }
  const OomMessage jetson = LogOf("torch_jetson.log").messages.at(0);
  EXPECT_EQ(jetson.line, 6U);
  EXPECT_EQ(Bytes(jetson.asked), 448 * kMiB);
  EXPECT_EQ(Bytes(jetson.free), 100 * kMiB);
  // From another process, or from long ago, they do not belong to it.
  const std::string warning =
      "[rank0]:[W] memory allocation failed with OOM on device 0 while trying to allocate 64 bytes "
      "(free: 32, total: 128)\n";
  EXPECT_EQ(FindOoms(warning + "[rank1]: CUDA error: out of memory").messages.at(0).wording,
            OomWording::kNoFigures);
  EXPECT_EQ(Bytes(FindOoms(warning + "[rank0]: CUDA error: out of memory").messages.at(0).asked),
            64);
  EXPECT_FALSE(FindOoms(warning + std::string(100, '\n') + "[rank0]: CUDA error: out of memory")
                   .messages.at(0)
                   .asked);
}

TEST(OomText, WhatIsSaidTwiceIsOneMessage) {
  EXPECT_EQ(LogOf("torch_cuda_log.log").found, 1U);
  EXPECT_EQ(FindOoms("cudaErrorMemoryAllocation").found, 1U);
  const OomLog llama = LogOf("llama.log");
  ASSERT_EQ(llama.found, 1U);
  EXPECT_EQ(llama.messages[0].line, 2U);
  EXPECT_EQ(Bytes(llama.messages[0].asked), 14822711296);
  EXPECT_EQ(llama.messages[0].asked->precision, 0);
}

TEST(OomText, AdviceThatIsLeftOut) {
  EXPECT_TRUE(LogOf("torch_2.14.log").messages.at(0).no_advice);
  EXPECT_FALSE(LogOf("torch_2.8.log").messages.at(0).no_advice) << "it is given";
  EXPECT_FALSE(LogOf("torch_boxed.log").messages.at(0).no_advice) << "it may be cut off";
  EXPECT_TRUE(LogOf("torch_reserve.log").messages.at(0).reserve_too_small);
  EXPECT_FALSE(LogOf("torch_2.14.log").messages.at(0).reserve_too_small);
}

TEST(OomText, XlasPoolIsListedBelowItsMessage) {
  const OomLog log = FindOoms(
      "Limit: 5\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 1.00KiB (rounded to "
      "1024)\nnoise\nLimit:   4096\nInUse:   3000\nMaxInUse:   4000\nLimit: 7\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(Bytes(log.messages[0].asked), 1024);
  EXPECT_EQ(Bytes(log.messages[0].limit), 4096);
  EXPECT_EQ(Bytes(log.messages[0].allocated), 3000);
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
         {std::pair(cut.asked, whole.asked), std::pair(cut.capacity, whole.capacity),
          std::pair(cut.free, whole.free), std::pair(cut.process, whole.process),
          std::pair(cut.allocated, whole.allocated),
          std::pair(cut.unallocated, whole.unallocated)}) {
      ASSERT_TRUE(!part || part->bytes == all->bytes) << length;
    }
  }
}

TEST(OomText, HostileNumbers) {
  const OomLog log = FindOoms(
      "CUDA out of memory. Tried to allocate 99999999999999999999999.99 GiB (GPU "
      "99999999999999999999; 18446744073709551615 bytes total capacity; 1.00 GiB already "
      "allocated; -3.00 GiB free; 2.00 GiB reserved in total by PyTorch)\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_FALSE(log.messages[0].asked);
  EXPECT_FALSE(log.messages[0].gpu);
  EXPECT_FALSE(log.messages[0].capacity);
  EXPECT_FALSE(log.messages[0].free);
  EXPECT_FALSE(log.messages[0].complete);
}

TEST(OomText, ColoursAndUtf16AreSeenThrough) {
  EXPECT_EQ(
      Bytes(FindOoms("\x1b[31mCUDA out of \x1b[1mmemory\x1b[0m. Tried to allocate 2.00 GiB. GPU")
                .messages.at(0)
                .asked),
      2 * kGiB);
  std::string wide = "\xFF\xFE";
  for (const char c : k23) {
    wide += c;
    wide += '\0';
  }
  EXPECT_EQ(Bytes(FindOoms(wide).messages.at(0).free), GiB(1.08));
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
  EXPECT_EQ(Bytes(log.messages.back().asked), 9'999 * kMiB);
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
