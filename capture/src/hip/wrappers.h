// The exported wrappers, with the runtime's signatures.
#pragma once

#include "hip/runtime.h"
#include "providers/wrapping.h"

extern "C" {

using memtool::capture::Extent;
using memtool::capture::HipArray3dDescriptor;
using memtool::capture::HipArrayDescriptor;
using memtool::capture::HipChannels;
using memtool::capture::HipHandle;
using memtool::capture::HipIpcHandle;
using memtool::capture::HipObject;
using memtool::capture::HipPitched;
using memtool::capture::HipProps;
using memtool::capture::HipStatus;

#define MEMTOOL_HIP_CALL MEMTOOL_EXPORT HipStatus

MEMTOOL_HIP_CALL hipGetProcAddress(const char* symbol, void** pointer, int version,
                                   std::uint64_t flags, void* found);

MEMTOOL_HIP_CALL hipMalloc(void** pointer, std::size_t size);
MEMTOOL_HIP_CALL hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned flags);
MEMTOOL_HIP_CALL hipMallocManaged(void** pointer, std::size_t size, unsigned flags);
MEMTOOL_HIP_CALL hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                std::size_t height);
MEMTOOL_HIP_CALL hipMemAllocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                  std::size_t height, unsigned element_size);
MEMTOOL_HIP_CALL hipMalloc3D(HipPitched* pitched, Extent extent);
MEMTOOL_HIP_CALL hipFree(void* pointer);

MEMTOOL_HIP_CALL hipMallocAsync(void** pointer, std::size_t size, HipObject stream);
MEMTOOL_HIP_CALL hipMallocFromPoolAsync(void** pointer, std::size_t size, HipObject pool,
                                        HipObject stream);
MEMTOOL_HIP_CALL hipFreeAsync(void* pointer, HipObject stream);
MEMTOOL_HIP_CALL hipMemPoolCreate(HipObject* pool, const HipProps* props);
MEMTOOL_HIP_CALL hipMemPoolDestroy(HipObject pool);
MEMTOOL_HIP_CALL hipMemPoolTrimTo(HipObject pool, std::size_t keep);

MEMTOOL_HIP_CALL hipMemCreate(HipHandle* handle, std::size_t size, const HipProps* props,
                              unsigned long long flags);
MEMTOOL_HIP_CALL hipMemRelease(HipHandle handle);
MEMTOOL_HIP_CALL hipMemMap(void* pointer, std::size_t size, std::size_t offset, HipHandle handle,
                           unsigned long long flags);
MEMTOOL_HIP_CALL hipMemUnmap(void* pointer, std::size_t size);
MEMTOOL_HIP_CALL hipMemAddressReserve(void** pointer, std::size_t size, std::size_t alignment,
                                      void* wish, unsigned long long flags);
MEMTOOL_HIP_CALL hipMemAddressFree(void* pointer, std::size_t size);
MEMTOOL_HIP_CALL hipMemRetainAllocationHandle(HipHandle* handle, void* address);
MEMTOOL_HIP_CALL hipMemImportFromShareableHandle(HipHandle* handle, void* shared, int type);
MEMTOOL_HIP_CALL hipIpcOpenMemHandle(void** pointer, HipIpcHandle handle, unsigned flags);
MEMTOOL_HIP_CALL hipIpcCloseMemHandle(void* pointer);

MEMTOOL_HIP_CALL hipHostMalloc(void** pointer, std::size_t size, unsigned flags);
MEMTOOL_HIP_CALL hipHostAlloc(void** pointer, std::size_t size, unsigned flags);
MEMTOOL_HIP_CALL hipMallocHost(void** pointer, std::size_t size);
MEMTOOL_HIP_CALL hipMemAllocHost(void** pointer, std::size_t size);
MEMTOOL_HIP_CALL hipHostFree(void* pointer);
MEMTOOL_HIP_CALL hipFreeHost(void* pointer);
MEMTOOL_HIP_CALL hipHostRegister(void* pointer, std::size_t size, unsigned flags);
MEMTOOL_HIP_CALL hipHostUnregister(void* pointer);

MEMTOOL_HIP_CALL hipMallocArray(HipObject* array, const HipChannels* channels, std::size_t width,
                                std::size_t height, unsigned flags);
MEMTOOL_HIP_CALL hipMalloc3DArray(HipObject* array, const HipChannels* channels, Extent extent,
                                  unsigned flags);
MEMTOOL_HIP_CALL hipArrayCreate(HipObject* array, const HipArrayDescriptor* descriptor);
MEMTOOL_HIP_CALL hipArray3DCreate(HipObject* array, const HipArray3dDescriptor* descriptor);
MEMTOOL_HIP_CALL hipFreeArray(HipObject array);
MEMTOOL_HIP_CALL hipArrayDestroy(HipObject array);

MEMTOOL_HIP_CALL hipDeviceReset();
MEMTOOL_HIP_CALL hipDevicePrimaryCtxReset(int device);

}  // extern "C"
