// The exported wrappers, with the driver's signatures.
#pragma once

#include "cuda/driver.h"
#include "providers/wrapping.h"

extern "C" {

using memtool::capture::CuAllocationProp;
using memtool::capture::CuArray3dDescriptor;
using memtool::capture::CuArrayDescriptor;
using memtool::capture::CuDevice;
using memtool::capture::CuGraphAllocation;
using memtool::capture::CuGraphNodeParams;
using memtool::capture::CuHandle;
using memtool::capture::CuIpcHandle;
using memtool::capture::CuLocation;
using memtool::capture::CuObject;
using memtool::capture::CuPointer;
using memtool::capture::CuPoolProps;
using memtool::capture::CuResult;

MEMTOOL_EXPORT CuResult cuGetProcAddress(const char* symbol, void** pointer, int version,
                                         std::uint64_t flags);
MEMTOOL_EXPORT CuResult cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                                            std::uint64_t flags, void* found);

MEMTOOL_EXPORT CuResult cuMemAlloc_v2(CuPointer* pointer, std::size_t size);
MEMTOOL_EXPORT CuResult cuMemAllocPitch_v2(CuPointer* pointer, std::size_t* pitch,
                                           std::size_t width, std::size_t height,
                                           unsigned element_size);
MEMTOOL_EXPORT CuResult cuMemAllocManaged(CuPointer* pointer, std::size_t size, unsigned flags);
MEMTOOL_EXPORT CuResult cuMemFree_v2(CuPointer pointer);

MEMTOOL_EXPORT CuResult cuMemAllocAsync(CuPointer* pointer, std::size_t size, CuObject stream);
MEMTOOL_EXPORT CuResult cuMemAllocAsync_ptsz(CuPointer* pointer, std::size_t size, CuObject stream);
MEMTOOL_EXPORT CuResult cuMemAllocFromPoolAsync(CuPointer* pointer, std::size_t size, CuObject pool,
                                                CuObject stream);
MEMTOOL_EXPORT CuResult cuMemAllocFromPoolAsync_ptsz(CuPointer* pointer, std::size_t size,
                                                     CuObject pool, CuObject stream);
MEMTOOL_EXPORT CuResult cuMemFreeAsync(CuPointer pointer, CuObject stream);
MEMTOOL_EXPORT CuResult cuMemFreeAsync_ptsz(CuPointer pointer, CuObject stream);
MEMTOOL_EXPORT CuResult cuMemPoolCreate(CuObject* pool, const CuPoolProps* props);
MEMTOOL_EXPORT CuResult cuMemGetDefaultMemPool(CuObject* pool, CuLocation* location, int type);
MEMTOOL_EXPORT CuResult cuMemGetMemPool(CuObject* pool, CuLocation* location, int type);
MEMTOOL_EXPORT CuResult cuMemPoolDestroy(CuObject pool);
MEMTOOL_EXPORT CuResult cuMemPoolTrimTo(CuObject pool, std::size_t keep);

MEMTOOL_EXPORT CuResult cuMemCreate(CuHandle* handle, std::size_t size,
                                    const CuAllocationProp* prop, unsigned long long flags);
MEMTOOL_EXPORT CuResult cuMemRelease(CuHandle handle);
MEMTOOL_EXPORT CuResult cuMemMap(CuPointer pointer, std::size_t size, std::size_t offset,
                                 CuHandle handle, unsigned long long flags);
MEMTOOL_EXPORT CuResult cuMemUnmap(CuPointer pointer, std::size_t size);
MEMTOOL_EXPORT CuResult cuMemAddressReserve(CuPointer* pointer, std::size_t size,
                                            std::size_t alignment, CuPointer wish,
                                            unsigned long long flags);
MEMTOOL_EXPORT CuResult cuMemAddressFree(CuPointer pointer, std::size_t size);
MEMTOOL_EXPORT CuResult cuMemRetainAllocationHandle(CuHandle* handle, void* address);
MEMTOOL_EXPORT CuResult cuMemImportFromShareableHandle(CuHandle* handle, void* shared, int type);
MEMTOOL_EXPORT CuResult cuIpcOpenMemHandle_v2(CuPointer* pointer, CuIpcHandle handle,
                                              unsigned flags);
MEMTOOL_EXPORT CuResult cuIpcCloseMemHandle(CuPointer pointer);

MEMTOOL_EXPORT CuResult cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags);
MEMTOOL_EXPORT CuResult cuMemAllocHost_v2(void** pointer, std::size_t size);
MEMTOOL_EXPORT CuResult cuMemFreeHost(void* pointer);
MEMTOOL_EXPORT CuResult cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned flags);
MEMTOOL_EXPORT CuResult cuMemHostUnregister(void* pointer);

MEMTOOL_EXPORT CuResult cuArrayCreate_v2(CuObject* array, const CuArrayDescriptor* descriptor);
MEMTOOL_EXPORT CuResult cuArray3DCreate_v2(CuObject* array, const CuArray3dDescriptor* descriptor);
MEMTOOL_EXPORT CuResult cuArrayDestroy(CuObject array);
MEMTOOL_EXPORT CuResult cuMipmappedArrayCreate(CuObject* array,
                                               const CuArray3dDescriptor* descriptor,
                                               unsigned levels);
MEMTOOL_EXPORT CuResult cuMipmappedArrayDestroy(CuObject array);

MEMTOOL_EXPORT CuResult cuGraphAddMemAllocNode(CuObject* node, CuObject graph,
                                               const CuObject* before, std::size_t count,
                                               CuGraphAllocation* params);
MEMTOOL_EXPORT CuResult cuGraphAddMemFreeNode(CuObject* node, CuObject graph,
                                              const CuObject* before, std::size_t count,
                                              CuPointer pointer);
MEMTOOL_EXPORT CuResult cuGraphAddNode(CuObject* node, CuObject graph, const CuObject* before,
                                       std::size_t count, CuGraphNodeParams* params);
MEMTOOL_EXPORT CuResult cuGraphAddNode_v2(CuObject* node, CuObject graph, const CuObject* before,
                                          const void* edges, std::size_t count,
                                          CuGraphNodeParams* params);
MEMTOOL_EXPORT CuResult cuGraphAddNode_v3(CuObject* node, CuObject graph, const CuObject* before,
                                          const void* edges, std::size_t count,
                                          CuGraphNodeParams* params);
MEMTOOL_EXPORT CuResult cuGraphLaunch(CuObject graph, CuObject stream);
MEMTOOL_EXPORT CuResult cuGraphLaunch_ptsz(CuObject graph, CuObject stream);
MEMTOOL_EXPORT CuResult cuDeviceGraphMemTrim(CuDevice device);

MEMTOOL_EXPORT CuResult cuCtxDestroy_v2(CuObject context);
MEMTOOL_EXPORT CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device);
MEMTOOL_EXPORT CuResult cuDevicePrimaryCtxReset_v2(CuDevice device);

}  // extern "C"
