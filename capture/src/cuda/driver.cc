// CUDA's provider: the table, the resolver, and what all wrappers need to know about the driver's
// state.
#include "cuda/driver.h"

#include "base/thread_state.h"
#include "cuda/wrappers.h"

namespace memtool::capture {

namespace {

constexpr const char* kLibrary = "libcuda.so";

Entry g_entries[] = {
#define MEMTOOL_CU(name, base, version, ptsz) \
  {#name, base, version, ptsz, reinterpret_cast<void*>(&::name), {nullptr}},
#include "cuda/functions.inc"
#undef MEMTOOL_CU
};

constexpr std::uint32_t kNewestVersion = 13050;

Provider g_cuda{kLibrary,       g_entries, sizeof g_entries / sizeof g_entries[0],
                kNewestVersion, {0},       {0}};

}  // namespace

Provider& CudaProvider() {
  return g_cuda;
}

namespace {

// May be called with any arguments: the caller cleans up on both processors.
CuResult Replayed() {
  return t_state.replay_status;
}

}  // namespace

void* CudaReal(Cu function) {
  if (t_state.replay != 0) {
    return reinterpret_cast<void*>(&Replayed);
  }
  return FindReal(g_entries[static_cast<std::size_t>(function)], kLibrary);
}

Attributes CudaAttributes(wire::Space space, wire::Kind kind, const char* name) {
  static DriverFunction get_context{};
  static DriverFunction get_device{};
  Attributes attributes{.space = space, .kind = kind, .name = name};
  const auto context =
      FindFunction<CuResult (*)(CuObject*)>(g_cuda, "cuCtxGetCurrent", get_context);
  const auto device = FindFunction<CuResult (*)(CuDevice*)>(g_cuda, "cuCtxGetDevice", get_device);
  CuObject current = nullptr;
  if (context != nullptr && context(&current) == 0) {
    attributes.context = reinterpret_cast<std::uintptr_t>(current);
  }
  CuDevice ordinal = -1;
  if (current != nullptr && device != nullptr && device(&ordinal) == 0) {
    attributes.device = ordinal;
  }
  return attributes;
}

std::uint64_t CudaFreeBytes() {
  static DriverFunction get_info{};
  const auto info =
      FindFunction<CuResult (*)(std::size_t*, std::size_t*)>(g_cuda, "cuMemGetInfo_v2", get_info);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  return info != nullptr && info(&free_bytes, &total) == 0 ? free_bytes : UINT64_MAX;
}

void CudaAllocated(const Attributes& attributes, CuResult status, std::uint64_t key,
                   std::uint64_t size, bool estimated) {
  if (status == 0) {
    RecordAlloc(attributes, key, size, estimated);
  } else {
    RecordFailed(attributes, size, static_cast<std::uint64_t>(status),
                 status == kCuOutOfMemory && attributes.space != wire::Space::kHostPointer
                     ? CudaFreeBytes()
                     : UINT64_MAX);
  }
}

}  // namespace memtool::capture

using memtool::capture::Busy;
using memtool::capture::Cu;
using memtool::capture::CudaProvider;
using memtool::capture::CudaReal;
using memtool::capture::CuResult;
using memtool::capture::SwapByPointer;

namespace {

constexpr std::uint64_t kPerThreadStream = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

void Swap(const char* symbol, void** pointer, int version, std::uint64_t flags) {
  if (pointer != nullptr && *pointer != nullptr && symbol != nullptr) {
    *pointer = SwapByPointer(CudaProvider(), *pointer, symbol, static_cast<std::uint32_t>(version),
                             (flags & kPerThreadStream) != 0);
  }
}

}  // namespace

extern "C" {

MEMTOOL_EXPORT CuResult cuGetProcAddress(const char* symbol, void** pointer, int version,
                                         std::uint64_t flags) {
  const auto real = CudaReal<decltype(&cuGetProcAddress)>(Cu::k_cuGetProcAddress);
  if (real == nullptr) {
    return memtool::capture::kCuNoDevice;
  }
  const Busy busy;
  const CuResult status = real(symbol, pointer, version, flags);
  if (status == 0 && busy.entered()) {
    Swap(symbol, pointer, version, flags);
  }
  return status;
}

MEMTOOL_EXPORT CuResult cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                                            std::uint64_t flags, void* found) {
  const auto real = CudaReal<decltype(&cuGetProcAddress_v2)>(Cu::k_cuGetProcAddress_v2);
  if (real == nullptr) {
    return memtool::capture::kCuNoDevice;
  }
  const Busy busy;
  const CuResult status = real(symbol, pointer, version, flags, found);
  if (status == 0 && busy.entered()) {
    Swap(symbol, pointer, version, flags);
  }
  return status;
}

}  // extern "C"
