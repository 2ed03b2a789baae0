// CUDA's provider: the table, the resolver, and what all wrappers need to know about the driver's
// state.
#include "cuda/driver.h"

#include "base/thread_state.h"
#include "cuda/wrappers.h"

namespace memtool::capture {

namespace {

constexpr const char* kLibrary = "libcuda.so";

Entry g_entries[] = {
#define MEMTOOL_CU(name, base, version, per_thread, ...) \
  {#name, base, version, per_thread, reinterpret_cast<void*>(&name), {nullptr}},
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

void* CudaReal(CuRow function) {
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

CuObject CudaPrimaryContext(CuDevice device) {
  static DriverFunction get_retain{};
  static DriverFunction get_release{};
  const auto retain = FindFunction<CuResult (*)(CuObject*, CuDevice)>(
      g_cuda, "cuDevicePrimaryCtxRetain", get_retain);
  const auto release =
      FindFunction<CuResult (*)(CuDevice)>(g_cuda, "cuDevicePrimaryCtxRelease_v2", get_release);
  CuObject context = nullptr;
  if (retain == nullptr || release == nullptr || !CudaPrimaryIsActive(device) ||
      retain(&context, device) != 0) {
    return nullptr;
  }
  release(device);
  return context;
}

bool CudaPrimaryIsActive(CuDevice device) {
  static DriverFunction get_state{};
  const auto state = FindFunction<CuResult (*)(CuDevice, unsigned*, int*)>(
      g_cuda, "cuDevicePrimaryCtxGetState", get_state);
  unsigned flags = 0;
  int active = 0;
  return state != nullptr && state(device, &flags, &active) == 0 && active != 0;
}

}  // namespace memtool::capture
