// What one out-of-memory message says, as readers of logs find it: figures rounded to two decimals,
// of one moment. Units: bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/oom.h"
#include "memtool/profile/account/oom_number.h"
#include "memtool/profile/account/oom_tables.h"

namespace memtool {

struct OomProcess {
  std::int64_t pid = 0;
  std::optional<OomNumber> used{};  // none: the driver did not know
};

enum class OomWording : std::uint8_t {
  kTorchCached,       // "(GPU 0; … free; … cached)": PyTorch 1.0 to 1.3
  kTorchReserved,     // "(GPU 0; … reserved in total by PyTorch)": 1.4 to 2.0
  kTorchUnallocated,  // "… is reserved by PyTorch but unallocated.": since 2.1
  kTorchAsync,        // "Allocation on device … would exceed allowed memory.": cudaMallocAsync
  kTorchMps,          // "MPS backend out of memory (MPS allocated: …"
  kTorchRetry,        // figures of "memory allocation failed with OOM on device …": since 2.13
  kXla,               // "Out of memory while trying to allocate": JAX, TensorFlow
  kXlaHbm,      // "Ran out of memory in memory space hbm. Used … of …": a program too large
  kXlaScoped,   // "Scoped allocation with size … and limit …": one allocation of a program
  kXlaTpu,      // "Attempting to allocate …. That was not possible.": a TPU's runtime
  kTensorFlow,  // "OOM when allocating tensor with shape[…] and type float on …"
  kLibrary,     // of RMM, CuPy, llama.cpp, NPU workspaces: `kind` says whose
  kVllm,        // vLLM does not start with the memory that is available
  kHost,        // memory of the host: DefaultCPUAllocator, the kernel's OOM killer
  kNoFigures,   // says that memory ran out, and nothing more
};

// Many logs leave out the year: their times are those of 1972, which comparing needs to know.
inline bool HasYear(std::int64_t time) {
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  return time >= kYear2000;
}

// An absent number was not in the message, or the message calls it unknown.
struct OomMessage {
  OomWording wording = OomWording::kNoFigures;
  std::string kind{};      // "CUDA", "HIP", "XPU" as written, "cuBLAS", "NCCL"; may be empty
  std::uint64_t line = 0;  // where it begins, from 1
  // When it was written, by the time stamp of its line or the last one before it: nanoseconds since
  // 1970, by a clock whose time zone is not reported.
  std::optional<std::int64_t> time{};
  bool complete = true;       // false: cut off, or reworded by who logged it
  std::optional<int> gpu{};   // as the process numbers its devices
  std::string device{};       // as a wording of the table names it: "CUDA0", "1"; may be empty
  std::optional<int> rank{};  // from the prefix of its line: "[rank3]: ", "[1,3]<stderr>:"
  std::optional<OomNumber> requested_bytes{};
  std::optional<OomNumber> lacking{};  // as the message says it
  std::string op{};                    // the operation that asked
  std::string chip{};                  // of a TPU: "0x0x1_HBM0"
  // An attempt that failed and is repeated after what is cached was returned: no failure unless an
  // error follows.
  bool retry = false;
  // XLA's pool was refused more by the driver, and then tries less: a retry where another of these
  // or a failure follows.
  bool growth = false;
  // The driver refused the pool more just before: what is not live of its limit was never taken.
  bool driver_refused = false;
  bool absurd = false;  // the request is more than any device has, and its size is not reported
  std::optional<OomNumber> capacity{};
  std::optional<OomNumber> free{};       // by the driver
  std::optional<OomNumber> largest{};    // of what is free, in one piece
  std::optional<OomNumber> limit{};      // set_per_process_memory_fraction; for XLA its pool
  std::optional<OomNumber> process{};    // this process on the device, all allocators
  std::optional<OomNumber> outside{};    // of the limit: taken by others than the framework
  std::optional<OomNumber> allocated{};  // by PyTorch's allocator, private pools included
  std::optional<OomNumber>
      private_pools{};                     // of `allocated`: free in pools of CUDA graphs, MemPools
  std::optional<OomNumber> unallocated{};  // taken from the driver and free: "cached" up to 1.3
  std::optional<OomNumber> reserved{};     // both together, where the message says that instead
  std::vector<OomProcess> others{};
  std::vector<std::string> advice{};  // settings that the message names, by their own names
  // It says that one allocation is larger than the reserve of an expandable segment.
  bool reserve_too_small = false;
  bool no_advice = false;  // it is complete and lacks the advice that it usually has
  std::string variable{};  // where it says to set them: "PYTORCH_HIP_ALLOC_CONF"
  std::string prefix{};    // what its line begins with: "[1,3]<stderr>:"
  // Of the tables that the message brings; null where it has none.
  std::shared_ptr<const OomProgram> program{};
  std::shared_ptr<const OomPool> pool{};
  std::optional<OomRemat> remat{};  // the compiler's last warning before it
  std::string shape{};              // of the one allocation that it is about
  // By the table of wordings (formats/log/patterns.yaml): the cause, where the wording has only
  // one, in words, and what helps. May be absent or empty.
  std::optional<OomCause> cause{};
  std::string why{};
  std::string remedy{};
};

// Of the allocator that XLA and TensorFlow share, whose pool's figures stand below the message.
inline bool IsOfPool(const OomMessage& message) {
  return message.wording == OomWording::kXla || message.wording == OomWording::kTensorFlow;
}

// Its stable name: "torch-reserved".
std::string_view ToName(OomWording wording);
// The one of that name; none where none has it.
std::optional<OomWording> FindWording(std::string_view name);
// Who wrote it, for people: "PyTorch, wording of 1.4 to 2.0".
std::string ToDisplayName(const OomMessage& message);

}  // namespace memtool
