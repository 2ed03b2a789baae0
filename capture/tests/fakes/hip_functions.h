// The HIP runtime's functions as the fake defines them and the test program reaches them: linked,
// by dlsym, or through hipGetProcAddress.
#pragma once

#include <cstddef>
#include <cstdint>

struct HipIpc {
  char bytes[64];
};
struct HipPitchedPointer {
  void* pointer;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
};
struct HipExtent {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
};
using Pointers = void**;

#define HIP_FUNCTIONS(F)                                                                   \
  F(hipSetDevice, (int))                                                                   \
  F(hipMalloc, (Pointers, std::size_t))                                                    \
  F(hipExtMallocWithFlags, (Pointers, std::size_t, unsigned))                              \
  F(hipMallocManaged, (Pointers, std::size_t, unsigned))                                   \
  F(hipMallocPitch, (Pointers, std::size_t*, std::size_t, std::size_t))                    \
  F(hipMemAllocPitch, (Pointers, std::size_t*, std::size_t, std::size_t, unsigned))        \
  F(hipMalloc3D, (HipPitchedPointer*, HipExtent))                                          \
  F(hipFree, (void*))                                                                      \
  F(hipMallocAsync, (Pointers, std::size_t, void*))                                        \
  F(hipMallocFromPoolAsync, (Pointers, std::size_t, void*, void*))                         \
  F(hipFreeAsync, (void*, void*))                                                          \
  F(hipMemPoolCreate, (Pointers, const int*))                                              \
  F(hipMemPoolDestroy, (void*))                                                            \
  F(hipMemPoolTrimTo, (void*, std::size_t))                                                \
  F(hipMemCreate, (Pointers, std::size_t, const int*, unsigned long long))                 \
  F(hipMemRelease, (void*))                                                                \
  F(hipMemMap, (void*, std::size_t, std::size_t, void*, unsigned long long))               \
  F(hipMemUnmap, (void*, std::size_t))                                                     \
  F(hipMemAddressReserve, (Pointers, std::size_t, std::size_t, void*, unsigned long long)) \
  F(hipMemAddressFree, (void*, std::size_t))                                               \
  F(hipMemRetainAllocationHandle, (Pointers, void*))                                       \
  F(hipMemImportFromShareableHandle, (Pointers, void*, int))                               \
  F(hipIpcOpenMemHandle, (Pointers, HipIpc, unsigned))                                     \
  F(hipIpcCloseMemHandle, (void*))                                                         \
  F(hipHostMalloc, (Pointers, std::size_t, unsigned))                                      \
  F(hipHostAlloc, (Pointers, std::size_t, unsigned))                                       \
  F(hipMallocHost, (Pointers, std::size_t))                                                \
  F(hipMemAllocHost, (Pointers, std::size_t))                                              \
  F(hipHostFree, (void*))                                                                  \
  F(hipFreeHost, (void*))                                                                  \
  F(hipHostRegister, (void*, std::size_t, unsigned))                                       \
  F(hipHostUnregister, (void*))                                                            \
  F(hipMallocArray, (Pointers, const int*, std::size_t, std::size_t, unsigned))            \
  F(hipMalloc3DArray, (Pointers, const int*, HipExtent, unsigned))                         \
  F(hipArrayCreate, (Pointers, const void*))                                               \
  F(hipArray3DCreate, (Pointers, const void*))                                             \
  F(hipFreeArray, (void*))                                                                 \
  F(hipArrayDestroy, (void*))                                                              \
  F(hipDeviceReset, ())                                                                    \
  F(hipDevicePrimaryCtxReset, (int))

extern "C" {
#define DECLARE(name, arguments) __attribute__((visibility("default"))) int name arguments;
HIP_FUNCTIONS(DECLARE)
#undef DECLARE
__attribute__((visibility("default"))) int hipGetProcAddress(const char*, void**, int,
                                                             std::uint64_t, void*);
}
