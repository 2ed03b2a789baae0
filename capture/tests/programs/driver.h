// The driver's functions as the test programs reach them: linked, by dlsym, or like cudart (one
// dlsym, then cuGetProcAddress for each). mini_cudart.cc loads them.
#pragma once

#include <cstddef>
#include <cstdint>

using Pointer = unsigned long long;

struct IpcHandle {
  char bytes[64];
};

#define DRIVER_FUNCTIONS(F)                                                                    \
  F(cuInit, "cuInit", (unsigned))                                                              \
  F(cuCtxCreate_v2, "cuCtxCreate", (void**, unsigned, int))                                    \
  F(cuCtxSetCurrent, "cuCtxSetCurrent", (void*))                                               \
  F(cuCtxDestroy_v2, "cuCtxDestroy", (void*))                                                  \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void**, int))                       \
  F(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", (int))                          \
  F(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", (int))                              \
  F(cuMemAlloc_v2, "cuMemAlloc", (Pointer*, std::size_t))                                      \
  F(cuMemAllocPitch_v2, "cuMemAllocPitch",                                                     \
    (Pointer*, std::size_t*, std::size_t, std::size_t, unsigned))                              \
  F(cuMemAllocManaged, "cuMemAllocManaged", (Pointer*, std::size_t, unsigned))                 \
  F(cuMemFree_v2, "cuMemFree", (Pointer))                                                      \
  F(cuMemAllocAsync, "cuMemAllocAsync", (Pointer*, std::size_t, void*))                        \
  F(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", (Pointer*, std::size_t, void*, void*)) \
  F(cuMemFreeAsync, "cuMemFreeAsync", (Pointer, void*))                                        \
  F(cuMemPoolCreate, "cuMemPoolCreate", (void**, const int*))                                  \
  F(cuMemGetDefaultMemPool, "cuMemGetDefaultMemPool", (void**, const int*, int))               \
  F(cuMemGetMemPool, "cuMemGetMemPool", (void**, const int*, int))                             \
  F(cuMemPoolDestroy, "cuMemPoolDestroy", (void*))                                             \
  F(cuMemPoolTrimTo, "cuMemPoolTrimTo", (void*, std::size_t))                                  \
  F(cuMemCreate, "cuMemCreate", (Pointer*, std::size_t, const int*, unsigned long long))       \
  F(cuMemRelease, "cuMemRelease", (Pointer))                                                   \
  F(cuMemMap, "cuMemMap", (Pointer, std::size_t, std::size_t, Pointer, unsigned long long))    \
  F(cuMemUnmap, "cuMemUnmap", (Pointer, std::size_t))                                          \
  F(cuMemAddressReserve, "cuMemAddressReserve",                                                \
    (Pointer*, std::size_t, std::size_t, Pointer, unsigned long long))                         \
  F(cuMemAddressFree, "cuMemAddressFree", (Pointer, std::size_t))                              \
  F(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", (Pointer*, void*))             \
  F(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", (Pointer*, void*, int))  \
  F(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", (Pointer*, IpcHandle, unsigned))              \
  F(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (Pointer))                                     \
  F(cuMemHostAlloc, "cuMemHostAlloc", (void**, std::size_t, unsigned))                         \
  F(cuMemAllocHost_v2, "cuMemAllocHost", (void**, std::size_t))                                \
  F(cuMemFreeHost, "cuMemFreeHost", (void*))                                                   \
  F(cuMemHostRegister_v2, "cuMemHostRegister", (void*, std::size_t, unsigned))                 \
  F(cuMemHostUnregister, "cuMemHostUnregister", (void*))                                       \
  F(cuArrayCreate_v2, "cuArrayCreate", (Pointer*, const void*))                                \
  F(cuArray3DCreate_v2, "cuArray3DCreate", (Pointer*, const void*))                            \
  F(cuArrayDestroy, "cuArrayDestroy", (Pointer))                                               \
  F(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", (Pointer*, const void*, unsigned))       \
  F(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", (Pointer))                             \
  F(cuStreamBeginCapture_v2, "cuStreamBeginCapture", (void*, int))                             \
  F(cuStreamEndCapture, "cuStreamEndCapture", (void*, void**))                                 \
  F(cuGraphCreate, "cuGraphCreate", (void**, unsigned))                                        \
  F(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",                                \
    (void**, void*, unsigned long long))                                                       \
  F(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode",                                          \
    (void**, void*, void* const*, std::size_t, void*))                                         \
  F(cuGraphAddMemFreeNode, "cuGraphAddMemFreeNode",                                            \
    (void**, void*, void* const*, std::size_t, Pointer))                                       \
  F(cuGraphAddNode_v2, "cuGraphAddNode",                                                       \
    (void**, void*, void* const*, const void*, std::size_t, void*))                            \
  F(cuGraphAddNode_v3, "cuGraphAddNode",                                                       \
    (void**, void*, void* const*, const void*, std::size_t, void*))                            \
  F(cuGraphLaunch, "cuGraphLaunch", (void*, void*))                                            \
  F(cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", (int))

// As the linker finds them; only programs that are linked with the driver may call them so.
extern "C" {
#define DECLARE(name, base, arguments) int name arguments;
DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
}

struct Driver {
#define MEMBER(name, base, arguments) int(*name) arguments;
  DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
};

// `how`: "dlsym", "runtime" (as cudart), "ptsz" (as cudart with per-thread streams). Null members
// where a function was not found; false when the driver is missing.
extern "C" bool LoadDriver(const char* how, Driver* driver);
// The same, from the names that the program is linked with.
bool LinkedDriver(Driver* driver);
