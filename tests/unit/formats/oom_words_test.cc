// What producers other than PyTorch say, and what all of them say since 2026.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/patterns.h"
#include "memtool/formats/oom_text.h"
#include "memtool/formats/statements.h"
#include "memtool/profile/answers/oom_advice.h"
#include "memtool/profile/answers/oom_case.h"
#include "memtool/profile/model/statement.h"
#include "oom_text/scan.h"
#include "support/files.h"
#include "support/oom_log.h"

namespace memtool::formats {
namespace {

TEST(OomWords, XlaSaysWhatWasAsked) {
  const OomLog log = test::MakeLog("xla.log");
  ASSERT_EQ(log.found, 2U);
  EXPECT_EQ(test::GetBytes(log.messages[0].requested_bytes), 2441334272);
  EXPECT_EQ(test::GetBytes(log.messages[1].requested_bytes), 2441334240);
  EXPECT_EQ(log.messages[1].requested_bytes->precision, 0);
}

TEST(OomWords, HipLimitBeforeWhatIsAllocated) {
  const OomLog log = FindOoms(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total "
      "capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated "
      "memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools "
      "(e.g., "
      "HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].kind, "HIP");
  EXPECT_EQ(test::GetBytes(log.messages[0].limit), test::GiB(1.05));
  EXPECT_EQ(test::GetBytes(log.messages[0].private_pools), 17 * test::kMiB);
  EXPECT_TRUE(log.messages[0].complete);
}

TEST(OomWords, WordsOfOthers) {
  struct Case {
    std::string_view text;
    OomWording wording;
    std::string_view kind;
    std::int64_t requested_bytes;
    std::int64_t capacity;
    int gpu;  // -1 = none
  };
  for (const auto& [text, wording, kind, requested_bytes, capacity, gpu] : {
           Case{"Failed to allocate request for 2.27GiB (2441334240B) on device ordinal 3",
                OomWording::kXla, "XLA", 2441334240, -1, 3},
           {"failed to allocate 2.27GiB (2441334272 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: "
            "out of memory",
            OomWording::kXla, "XLA", 2441334272, -1, -1},
           {"Ran out of memory in memory space vmem. Used 20.95M of 16.00M vmem.",
            OomWording::kXlaHbm, "vmem", test::MiB(20.95), 16 * test::kMiB, -1},
           {"OOM when allocating tensor with shape[64,56,56,256] and type half on "
            "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc",
            OomWording::kTensorFlow, "TensorFlow", std::int64_t{64} * 56 * 56 * 256 * 2, -1, 1},
           {"OOM when allocating tensor with shape[99999999999,99999999999] and type float on x",
            OomWording::kTensorFlow, "TensorFlow", -1, -1, -1},
           {"OOM when allocating tensor with shape[2] and type resource on x",
            OomWording::kTensorFlow, "TensorFlow", -1, -1, -1},
           {"DefaultCPUAllocator: not enough memory: you tried to allocate 4096 bytes.",
            OomWording::kHost, "PyTorch's allocator of the host", 4096, -1, -1},
           {"Out of memory: Killed process 7 (python)", OomWording::kHost, "the kernel of the host",
            -1, -1, -1},
           {"NCCL WARN Cuda failure 'out of memory'", OomWording::kNoFigures, "NCCL", -1, -1, -1},
           {"CUDNN_STATUS_ALLOC_FAILED", OomWording::kNoFigures, "cuDNN", -1, -1, -1},
           {"MPS backend out of memory (MPS allocated: 1.00 GB, other allocations: 1.10 MB, max "
            "allowed: 2.00 GB). Tried to allocate 3.00 KB on private pool.",
            OomWording::kTorchMps, "MPS", 3072, -1, -1},
       }) {
    const OomLog log = FindOoms(text);
    ASSERT_EQ(log.found, 1U) << text;
    const OomMessage& message = log.messages[0];
    EXPECT_EQ(message.wording, wording) << text;
    EXPECT_EQ(message.kind, kind) << text;
    EXPECT_EQ(test::GetBytes(message.requested_bytes), requested_bytes) << text;
    EXPECT_EQ(test::GetBytes(message.capacity), capacity) << text;
    EXPECT_EQ(message.gpu.value_or(-1), gpu) << text;
  }
}

TEST(OomWords, WordsOf2026) {
  struct Case {
    std::string_view text;
    OomWording wording;
    std::string_view kind;
    std::int64_t requested_bytes;
    std::int64_t free;
    std::int64_t capacity;
    int gpu;  // -1 = none
  };
  for (const auto& [text, wording, kind, requested_bytes, free, capacity, gpu] : {
           Case{"MTIA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of "
                "16.00 GiB of which 512.00 MiB is free.",
                OomWording::kTorchUnallocated, "MTIA", test::GiB(1.5), test::MiB(512),
                16 * test::kGiB, 2},
           {"PrivateUse1 out of memory. Tried to allocate 3.00 MiB", OomWording::kTorchUnallocated,
            "PrivateUse1", test::MiB(3), -1, -1, -1},
           {"We ran out of memory. Tried to allocate 1.00 GiB of it", OomWording::kNoFigures, "",
            -1, -1, -1, -1},
           {"NPU out of memory. NPUWorkspaceAllocator tried to allocate 3.00 GiB(NPU 5; 60.00 GiB "
            "total capacity; 1.50 GiB free)",
            OomWording::kLibrary, "NPU", 3 * test::kGiB, test::GiB(1.5), 60 * test::kGiB, 5},
           {"TPU TensorCore Hbm usage: 34.50G, SparseCore Hbm usage 174.00G, exceeding available "
            "bytes: 95.50G",
            OomWording::kXlaHbm, "hbm", test::GiB(208.5), -1, test::GiB(95.5), -1},
           {"total memory required for HLO temporaries (20.50G) exceeds available HBM (15.50G)",
            OomWording::kXlaHbm, "hbm", test::GiB(20.5), -1, test::GiB(15.5), -1},
           {"Ran out of memory in memory space vmem while allocating on stack. Scoped allocation "
            "with size 32.00M and limit 16.00M exceeded",
            OomWording::kXlaScoped, "scoped vmem", 32 * test::kMiB, -1, 16 * test::kMiB, -1},
           {"Allocation (size=33554432) would exceed memory (size=16777216) :: #2 [space=vmem]",
            OomWording::kXlaScoped, "vmem", 32 * test::kMiB, -1, 16 * test::kMiB, -1},
           {"std::bad_alloc: out_of_memory: CUDA error (failed to allocate 1024 bytes) at: "
            "/a/b.hpp:62: cudaErrorMemoryAllocation out of memory",
            OomWording::kLibrary, "RMM", 1024, -1, -1, -1},
           {"Out of memory allocating 1,073,741,824 bytes (allocated so far: 12 bytes).",
            OomWording::kLibrary, "CuPy", test::kGiB, -1, -1, -1},
           {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 100.00 MiB on device 1: "
            "cudaMalloc failed: out of memory",
            OomWording::kLibrary, "llama.cpp", 100 * test::kMiB, -1, -1, 1},
           {"ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711296",
            OomWording::kLibrary, "llama.cpp", 14822711296, -1, -1, 0},
           {"Free memory on device (67.25/79.25 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.33 GiB).",
            OomWording::kVllm, "vLLM", test::GiB(71.33), test::GiB(67.25), test::GiB(79.25), -1},
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
    EXPECT_EQ(test::GetBytes(message.requested_bytes), requested_bytes) << text;
    EXPECT_EQ(test::GetBytes(message.free), free) << text;
    EXPECT_EQ(test::GetBytes(message.capacity), capacity) << text;
    EXPECT_EQ(message.gpu.value_or(-1), gpu) << text;
  }
}

// Whoever's job died wants to know what to do: no wording that the table has leaves that out.
TEST(OomWords, EveryFailureOfTheTableHasAdvice) {
  const auto table = log::PatternTable::Parse(BuiltinLogPatterns(), "patterns.yaml");
  ASSERT_TRUE(table);
  for (const log::Pattern& pattern : table->patterns()) {
    if (pattern.kind != log::Pattern::Kind::kFailure || pattern.cut || pattern.after_retry) {
      continue;
    }
    const OomLog log = FindOoms(pattern.example + "\n");
    ASSERT_EQ(log.found, 1U) << pattern.place;
    const std::vector<OomAdvice> advice = Advise(MakeCase(log.messages[0]));
    EXPECT_TRUE(std::any_of(advice.begin(), advice.end(),
                            [](const OomAdvice& each) {
                              return each.kind >= OomAdviceKind::kEndProcess &&
                                     each.kind < OomAdviceKind::kExpandableIsOn;
                            }))
        << pattern.place << ": " << pattern.example;
  }
}

// What failed stands in a line behind the one that says that memory ran out.
TEST(OomWords, ALaterLineHasTheBetterAdvice) {
  const std::string refused =
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 160.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n";
  for (const auto& [line, helps] :
       {std::pair("graph_reserve: failed to allocate compute buffers", "smaller compute buffers"),
        {"llama_init_from_model: failed to allocate compute pp buffers", "smaller compute buffers"},
        {"llama_init: failed to allocate buffer for kv cache", "smaller KV cache"},
        {"llama_model_load: error loading model: unable to allocate CUDA0 buffer", "--n-cpu-moe"},
        {"main: exiting", "fewer layers"}}) {
    const OomLog log = FindOoms(
        refused + "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 167772160\n" +
        line);
    ASSERT_EQ(log.found, 1U) << line;
    EXPECT_NE(log.messages[0].remedy.find(helps), std::string::npos) << log.messages[0].remedy;
  }
}

TEST(OomWords, SeveralLinesAboutOneFailureAreOne) {
  for (const std::string_view text :
       {"[0] NCCL WARN Cuda failure 2 'out of memory'\n"
        "[0] NCCL WARN Failed to CUDA calloc async 6291456 bytes\n"
        "Last error:\nFailed to CUDA calloc async 6291456 bytes\n",
        "ERROR  TDRV:dmem_alloc_internal  Failed to allocate DEVICE memory (6291456 bytes)\n"
        "ERROR  TDRV:log_dev_mem  Failed to allocate 6.000MB (alignment: none, usage: tensors) on "
        "ND 0:NC 1\n",
        "ggml_vulkan: Device memory allocation of size 4194304 failed.\n"
        "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n"
        "alloc_tensor_range: failed to allocate Vulkan0 buffer of size 6291456\n",
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of "
        "memory)\nCurrently allocated     : 7.00 GiB\nRequested               : 6.00 MiB\n"
        "Device limit            : 8.00 GiB\nFree (according to CUDA): 0 bytes\n"}) {
    const OomLog log = FindOoms(text);
    ASSERT_EQ(log.found, 1U) << text;
    EXPECT_EQ(test::GetBytes(log.messages[0].requested_bytes), 6291456) << text;
    EXPECT_NE(log.messages[0].wording, OomWording::kNoFigures) << text;
  }
  const OomLog killed = FindOoms(
      "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some\n"
      "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch. Some\n");
  EXPECT_EQ(killed.found, 1U);
}

TEST(OomWords, FailuresOfTwoProcessesAreTwo) {
  const std::string lacks =
      "ValueError: To serve at least one request with a length of 8, 4.00 GiB KV cache is needed, "
      "which is larger than the available KV cache memory (2.00 GiB)\n";
  EXPECT_EQ(FindOoms("(EngineCore_DP0 pid=7) " + lacks + "(EngineCore_DP1 pid=8) " + lacks).found,
            2U);
  EXPECT_EQ(FindOoms("(EngineCore_DP0 pid=7) " + lacks + "(EngineCore_DP0 pid=7) " + lacks).found,
            1U);
}

TEST(OomWords, ADetailIsNear) {
  const std::string refused = "alloc_tensor_range: failed to allocate CUDA0 buffer of size 4096\n";
  const std::string detail = "graph_reserve: failed to allocate compute buffers\n";
  const auto remedy = [&](std::size_t lines) {
    return FindOoms(refused + std::string(lines, '\n') + detail).messages.at(0).remedy;
  };
  EXPECT_TRUE(remedy(20).starts_with("smaller compute buffers"));
  EXPECT_TRUE(remedy(60).starts_with("fewer layers"));
}

// Free or cached is not in the message: what is not live is an upper bound of both.
TEST(OomWords, WhatIsNotLiveIsAllThatThereCanBe) {
  const auto judge = [](std::string_view requested) {
    return MakeCase(
        FindOoms("torch.OutOfMemoryError: XPU out of memory. Tried to allocate " +
                 std::string(requested) +
                 " GiB. GPU 0 has a total capacity of 16.00 GiB. Of the allocated memory 12.00 GiB "
                 "is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n")
            .messages.at(0));
  };
  const OomCase full = judge("4.50");
  EXPECT_EQ(VerdictName(full), "full");
  EXPECT_TRUE(full.verdict.at_most);
  EXPECT_EQ(full.verdict.in_all, 4 * test::kGiB);
  EXPECT_EQ(full.verdict.short_in_all, test::kGiB / 2);
  EXPECT_EQ(VerdictName(judge("3.50")), "unknown");
  EXPECT_EQ(VerdictName(judge("4.01")), "unknown") << "within the rounding of three figures";
}

// What goes on in another way did not run out.
TEST(OomWords, WhatALaterLineRecoversFromIsARetry) {
  const std::string refused =
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 160.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n"
      "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 167772160\n"
      "graph_reserve: failed to allocate compute buffers\n";
  const std::string again =
      "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism\n";
  const OomLog recovered = FindOoms(refused + again);
  EXPECT_EQ(recovered.found, 0U);
  EXPECT_EQ(recovered.retries, 1U);
  EXPECT_EQ(test::GetBytes(recovered.last_retry->requested_bytes), 160 * test::kMiB);
  const OomLog in_vain = FindOoms(refused + again + refused);
  EXPECT_EQ(in_vain.found, 1U);
  EXPECT_EQ(in_vain.messages.at(0).line, 5U);
  EXPECT_EQ(FindOoms(again).found, 0U);

  const OomLog built = FindOoms(
      "[TRT] [E] Requested amount of GPU memory (8589934592 bytes) could not be allocated.\n" +
      std::string(60, '\n') +
      "[TRT] [W] Skipping tactic 1 due to insufficient memory on requested size of 8589934592 "
      "detected for tactic 0x4.\n");
  EXPECT_EQ(built.found, 0U);
  EXPECT_EQ(built.retries, 1U);
}

TEST(OomWords, ADeviceOfAnotherBackEndIsAnother) {
  EXPECT_TRUE(MayBeSameDevice("0", "CUDA0"));
  EXPECT_TRUE(MayBeSameDevice("MTL0", "MTL0_Mapped"));
  EXPECT_FALSE(MayBeSameDevice("CUDA0", "CUDA1"));
  EXPECT_FALSE(MayBeSameDevice("CUDA0", "RPC0[10.0.0.5:50053]"));
  const OomLog log = FindOoms(
      "ggml_gallocr_reserve_n_impl: failed to allocate RPC0[10.0.0.5:50053] buffer of size 4096\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].device, "RPC0[10.0.0.5:50053]");
  EXPECT_FALSE(log.messages[0].gpu);
}

// A traceback quotes the line that raised it, and a server prints its traceback twice.
TEST(OomWords, WhatATracebackQuotesIsNoFailure) {
  const OomLog log = FindOoms(
      "(EngineCore pid=7) ERROR 10-25 13:08:43 [core.py:708]     raise ValueError(\"No available "
      "memory for the cache blocks. \"\n"
      "(EngineCore pid=7) ERROR 10-25 13:08:43 [core.py:708] ValueError: No available memory for "
      "the cache blocks. Try\n" +
      std::string(60, '\n') +
      "(EngineCore pid=7) ValueError: No available memory for the cache blocks. Try\n");
  ASSERT_EQ(log.found, 1U);
  EXPECT_EQ(log.messages[0].line, 2U);
  for (const std::string_view source :
       {"    raise RuntimeError(\"CUDA error: out of memory\")\n",
        "    raise torch.OutOfMemoryError(f\"CUDA out of memory. Tried to allocate 2.00 GiB\")\n",
        "            \"CUDA error: out of memory\"\n"}) {
    EXPECT_EQ(FindOoms(source).found, 0U) << source;
  }
  EXPECT_EQ(FindOoms("exception=RuntimeError('CUDA error: out of memory')>\n").found, 1U);
  EXPECT_EQ(FindOoms("error=\"model requires more system memory (15.9 GiB) than is available (9.5 "
                     "GiB)\"\n")
                .found,
            1U);
}

// Lengths that overflowed: whoever words it.
TEST(OomWords, ASizeBeyond64BitsIsNoSize) {
  for (const std::string_view text :
       {"RuntimeError: CUDA out of memory. Tried to allocate 17179869113.53 GiB (GPU 0; 10.92 GiB "
        "total capacity; 36.04 MiB already allocated; 9.58 GiB free; 29.96 MiB cached)\n",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16777216.00 TiB. GPU 0 has a "
        "total capacity of 23.98 GiB of which 1.02 GiB is free.\n",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 18446744071562067968 bytes.\n",
        "OOM when allocating tensor with shape[4096,4096,4096,4096,4096,4096] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
        "BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested "
        "buffer "
        "of size 18446744071562067968\n",
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 18,446,744,071,562,067,968 "
        "bytes (allocated so far: 25,165,824 bytes).\n",
        "Memory allocation error on worker 0: std::bad_alloc\n- Free memory: 1.5GB\n"
        "- Requested memory: 17179869113GB\n",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 18446744071562067968 "
        "bytes. Error code 12 (Cannot allocate memory)\n"}) {
    const OomLog log = FindOoms(text);
    ASSERT_EQ(log.found, 1U) << text;
    EXPECT_TRUE(log.messages[0].absurd) << text;
    EXPECT_FALSE(log.messages[0].requested_bytes) << text;
    const OomCase found = MakeCase(log.messages[0]);
    EXPECT_EQ(found.conclusion.reason, OomReason::kAbsurd) << text;
    const auto advice = Advise(found);
    ASSERT_EQ(advice.size(), 1U) << text;
    EXPECT_EQ(advice[0].kind, OomAdviceKind::kCheckSizes) << text;
  }
}

TEST(OomWords, AWordingWithOneCauseIsAVerdict) {
  const OomCase found = MakeCase(
      FindOoms("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
          .messages.at(0));
  EXPECT_EQ(VerdictName(found), "limit");
  EXPECT_EQ(found.conclusion.reason, OomReason::kOfWording);
  EXPECT_FALSE(found.judged()) << "no figure was lacking";
}

// Of all entries of the table: broken at any blank, or within a word, by a program that wraps
// lines.
TEST(OomWords, WhatATableSaysOfIsRejoined) {
  const std::string said =
      "[rank2]: cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes "
      "(allocated so far: 6,291,456 bytes, limit set to: 7,340,032 bytes).";
  const std::size_t begin = said.find("allocating") + std::string_view("allocating").size();
  for (std::size_t at = begin; at < said.find("bytes)."); ++at) {
    const bool blank = said[at] == ' ';
    const std::string cut =
        said.substr(0, at) + "\n[rank2]: " + said.substr(at + (blank ? 1 : 0)) + "\n";
    const OomLog log = FindOoms(cut);
    ASSERT_EQ(log.found, 1U) << cut;
    const OomMessage& message = log.messages[0];
    EXPECT_EQ(message.line, 1U);
    EXPECT_EQ(message.rank, 2);
    EXPECT_TRUE(message.complete) << cut;
    EXPECT_EQ(test::GetBytes(message.requested_bytes), test::kGiB) << cut;
    EXPECT_EQ(test::GetBytes(message.limit), 7 * test::kMiB) << cut;
  }
  const OomLog others = FindOoms(
      "[rank2]: Out of memory allocating 64 bytes (allocated so far:\n[rank1]: 12 bytes).\n");
  ASSERT_EQ(others.found, 1U);
  EXPECT_FALSE(others.messages[0].complete) << "the next line is another process's";
  EXPECT_FALSE(others.messages[0].allocated);
}

TEST(OomWords, AKernelIsNamedAndItsFiguresInTheNextLineAreItsOwn) {
  const std::string said =
      "Ran out of memory in memory space vmem while allocating on stack for %flash.7 = bf16[8] x";
  const OomLog two = FindOoms(said + "\nScoped allocation with size 24.00M and limit 16.00M\n");
  ASSERT_EQ(two.found, 1U);
  EXPECT_EQ(two.messages[0].op, "flash.7");
  EXPECT_EQ(test::GetBytes(two.messages[0].requested_bytes), 24 * test::kMiB);
  const OomLog alone = FindOoms(said);
  ASSERT_EQ(alone.found, 1U);
  EXPECT_EQ(alone.messages[0].op, "flash.7");
  EXPECT_EQ(alone.messages[0].wording, OomWording::kXlaScoped);
  EXPECT_FALSE(alone.messages[0].requested_bytes);
}

TEST(OomWords, WhatIsSaidAgainIsOneFailureAndAnotherSizeAnother) {
  const std::string first =
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 100.00 MiB on device 1: cudaMalloc "
      "failed: out of memory\n";
  const OomLog again = FindOoms(first + "failed to allocate CUDA1 buffer of size 104857600\n");
  ASSERT_EQ(again.found, 1U);
  EXPECT_EQ(again.messages[0].requested_bytes->precision, 0);
  EXPECT_EQ(FindOoms(first + "failed to allocate CUDA1 buffer of size 204857600\n").found, 2U);
  EXPECT_EQ(FindOoms(first + "failed to allocate CUDA0 buffer of size 104857600\n").found, 2U);
  EXPECT_EQ(
      FindOoms("[rank0]: CUDA error: out of memory\n[rank0]: cudaErrorMemoryAllocation\n").found,
      1U);
  EXPECT_EQ(
      FindOoms("[rank0]: CUDA error: out of memory\n[rank1]: cudaErrorMemoryAllocation\n").found,
      2U);
}

TEST(OomWords, VllmsCacheIsLargerThanWhatIsLeftForIt) {
  const OomMessage m = test::MakeLog("vllm_cache.log").messages.at(0);
  EXPECT_EQ(test::GetBytes(m.requested_bytes), test::GiB(23.25));
  EXPECT_EQ(test::GetBytes(m.limit), test::GiB(22.5));
}

TEST(OomWords, ATpuSaysWhatIsFreeAndHowLargeThePieces) {
  const OomMessage buffer = test::MakeLog("xla_tpu_buffer.log").messages.at(0);
  EXPECT_EQ(buffer.wording, OomWording::kXlaTpu);
  EXPECT_EQ(test::GetBytes(buffer.requested_bytes), 8 * test::kMiB);
  EXPECT_EQ(test::GetBytes(buffer.free), test::MiB(6.5));
  EXPECT_FALSE(buffer.largest);
  EXPECT_EQ(buffer.chip, "0x0x1_HBM0");
  const OomMessage pieces = test::MakeLog("xla_tpu_pieces.log").messages.at(0);
  EXPECT_EQ(test::GetBytes(pieces.free), 2 * test::kGiB);
  EXPECT_EQ(test::GetBytes(pieces.largest), 384 * test::kMiB);
  EXPECT_EQ(pieces.chip, "1x0x0_HBM0");
  const OomMessage program = test::MakeLog("xla_tpu_program.log").messages.at(0);
  EXPECT_EQ(test::GetBytes(program.requested_bytes), test::GiB(5.5));
  EXPECT_EQ(test::GetBytes(program.free), 14 * test::kGiB);
  EXPECT_EQ(test::GetBytes(program.largest), test::GiB(4.5));
  EXPECT_EQ(FindOoms("Attempting to allocate 8.00M of it").found, 0U);
}

}  // namespace
}  // namespace memtool::formats
