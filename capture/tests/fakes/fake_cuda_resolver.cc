// cuGetProcAddress of the fake libcuda.so.1: by name, version and the per-thread flag.
#include <cstring>

#include "fakes/fake_books.h"

#define FUNCTIONS(ROW)                                                              \
  ROW(cuInit, 2000, false, cuInit)                                                  \
  ROW(cuDriverGetVersion, 2020, false, cuDriverGetVersion)                          \
  ROW(cuDeviceGetCount, 2000, false, cuDeviceGetCount)                              \
  ROW(cuDeviceGet, 2000, false, cuDeviceGet)                                        \
  ROW(cuCtxCreate, 3020, false, cuCtxCreate_v2)                                     \
  ROW(cuCtxSetCurrent, 4000, false, cuCtxSetCurrent)                                \
  ROW(cuCtxGetCurrent, 4000, false, cuCtxGetCurrent)                                \
  ROW(cuCtxGetDevice, 2000, false, cuCtxGetDevice)                                  \
  ROW(cuCtxDestroy, 4000, false, cuCtxDestroy_v2)                                   \
  ROW(cuDevicePrimaryCtxRetain, 7000, false, cuDevicePrimaryCtxRetain)              \
  ROW(cuDevicePrimaryCtxRelease, 11000, false, cuDevicePrimaryCtxRelease_v2)        \
  ROW(cuDevicePrimaryCtxReset, 11000, false, cuDevicePrimaryCtxReset_v2)            \
  ROW(cuDevicePrimaryCtxGetState, 7000, false, cuDevicePrimaryCtxGetState)          \
  ROW(cuMemGetInfo, 3020, false, cuMemGetInfo_v2)                                   \
  ROW(cuMemAlloc, 3020, false, cuMemAlloc_v2)                                       \
  ROW(cuMemAllocPitch, 3020, false, cuMemAllocPitch_v2)                             \
  ROW(cuMemAllocManaged, 6000, false, cuMemAllocManaged)                            \
  ROW(cuMemFree, 3020, false, cuMemFree_v2)                                         \
  ROW(cuMemAllocAsync, 11020, false, cuMemAllocAsync)                               \
  ROW(cuMemAllocAsync, 11020, true, cuMemAllocAsync_ptsz)                           \
  ROW(cuMemAllocFromPoolAsync, 11020, false, cuMemAllocFromPoolAsync)               \
  ROW(cuMemAllocFromPoolAsync, 11020, true, cuMemAllocFromPoolAsync_ptsz)           \
  ROW(cuMemFreeAsync, 11020, false, cuMemFreeAsync)                                 \
  ROW(cuMemFreeAsync, 11020, true, cuMemFreeAsync_ptsz)                             \
  ROW(cuMemPoolCreate, 11020, false, cuMemPoolCreate)                               \
  ROW(cuMemGetDefaultMemPool, 13000, false, cuMemGetDefaultMemPool)                 \
  ROW(cuMemGetMemPool, 13000, false, cuMemGetMemPool)                               \
  ROW(cuMemPoolDestroy, 11020, false, cuMemPoolDestroy)                             \
  ROW(cuMemPoolTrimTo, 11020, false, cuMemPoolTrimTo)                               \
  ROW(cuMemCreate, 10020, false, cuMemCreate)                                       \
  ROW(cuMemRelease, 10020, false, cuMemRelease)                                     \
  ROW(cuMemMap, 10020, false, cuMemMap)                                             \
  ROW(cuMemUnmap, 10020, false, cuMemUnmap)                                         \
  ROW(cuMemAddressReserve, 10020, false, cuMemAddressReserve)                       \
  ROW(cuMemAddressFree, 10020, false, cuMemAddressFree)                             \
  ROW(cuMemRetainAllocationHandle, 11000, false, cuMemRetainAllocationHandle)       \
  ROW(cuMemImportFromShareableHandle, 10020, false, cuMemImportFromShareableHandle) \
  ROW(cuIpcOpenMemHandle, 11000, false, cuIpcOpenMemHandle_v2)                      \
  ROW(cuIpcCloseMemHandle, 4010, false, cuIpcCloseMemHandle)                        \
  ROW(cuMemHostAlloc, 2020, false, cuMemHostAlloc)                                  \
  ROW(cuMemAllocHost, 3020, false, cuMemAllocHost_v2)                               \
  ROW(cuMemFreeHost, 2000, false, cuMemFreeHost)                                    \
  ROW(cuMemHostRegister, 6050, false, cuMemHostRegister_v2)                         \
  ROW(cuMemHostUnregister, 4000, false, cuMemHostUnregister)                        \
  ROW(cuArrayCreate, 3020, false, cuArrayCreate_v2)                                 \
  ROW(cuArray3DCreate, 3020, false, cuArray3DCreate_v2)                             \
  ROW(cuArrayDestroy, 2000, false, cuArrayDestroy)                                  \
  ROW(cuMipmappedArrayCreate, 5000, false, cuMipmappedArrayCreate)                  \
  ROW(cuMipmappedArrayDestroy, 5000, false, cuMipmappedArrayDestroy)                \
  ROW(cuStreamBeginCapture, 10010, false, cuStreamBeginCapture_v2)                  \
  ROW(cuStreamEndCapture, 10000, false, cuStreamEndCapture)                         \
  ROW(cuStreamIsCapturing, 10000, false, cuStreamIsCapturing)                       \
  ROW(cuStreamIsCapturing, 10000, true, cuStreamIsCapturing_ptsz)                   \
  ROW(cuGraphCreate, 10000, false, cuGraphCreate)                                   \
  ROW(cuGraphInstantiateWithFlags, 11040, false, cuGraphInstantiateWithFlags)       \
  ROW(cuGraphAddMemAllocNode, 11040, false, cuGraphAddMemAllocNode)                 \
  ROW(cuGraphAddMemFreeNode, 11040, false, cuGraphAddMemFreeNode)                   \
  ROW(cuGraphAddNode, 12020, false, cuGraphAddNode)                                 \
  ROW(cuGraphAddNode, 12030, false, cuGraphAddNode_v2)                              \
  ROW(cuGraphAddNode, 13040, false, cuGraphAddNode_v3)                              \
  ROW(cuGraphLaunch, 10000, false, cuGraphLaunch)                                   \
  ROW(cuGraphLaunch, 10000, true, cuGraphLaunch_ptsz)                               \
  ROW(cuDeviceGraphMemTrim, 11040, false, cuDeviceGraphMemTrim)

// Only their addresses matter here.
extern "C" {
#define DECLARE(base, version, per_thread, name) int name();
FUNCTIONS(DECLARE)
#undef DECLARE
}
API int cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                            unsigned long long flags, void* found);
API int cuGetProcAddress(const char* symbol, void** pointer, int version,
                         unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, pointer, version, flags, nullptr);
}

namespace {

struct Function {
  const char* base;
  int version;
  bool per_thread;
  void* address;
};

#define ENTRY(base, version, per_thread, name) \
  {#base, version, per_thread, reinterpret_cast<void*>(&name)},
const Function kFunctions[] = {FUNCTIONS(ENTRY)  //
                               ENTRY(cuGetProcAddress, 11030, false, cuGetProcAddress)
                                   ENTRY(cuGetProcAddress, 12000, false, cuGetProcAddress_v2)};
#undef ENTRY

}  // namespace

// The per-thread flag is 2; the empty name is not found, as with the real one.
API int cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                            unsigned long long flags, void* /*found*/) {
  const Function* best = nullptr;
  for (const Function& function : kFunctions) {
    if (strcmp(function.base, symbol) != 0 || function.version > version ||
        (function.per_thread && (flags & 2U) == 0)) {
      continue;
    }
    if (best == nullptr || function.version > best->version || function.per_thread) {
      best = &function;
    }
  }
  *pointer = best == nullptr ? nullptr : best->address;
  return best == nullptr ? fake::kNotFound : fake::kOk;
}
