// The CUDA driver API as far as the shim wraps it: types of our own, from the documented ABI, so
// that no vendor header is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/provider.h"
#include "record/recorder.h"

namespace memtool::capture {

using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuHandle = unsigned long long;
using CuObject = void*;  // contexts, streams, arrays, pools

inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

struct CuLocation {
  int type;  // 0 = none, 1 = device
  int id;
};
struct CuAllocationProp {  // the head of CUmemAllocationProp
  int type;
  int handle_types;
  CuLocation location;
};
struct CuPoolProps {  // the head of CUmemPoolProps
  int type;           // 1 = pinned, 2 = managed
  int handle_types;
  CuLocation location;
};
struct CuIpcHandle {
  char bytes[64];
};
struct CuArrayDescriptor {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct CuArray3dDescriptor {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};

struct CuGraphAllocation {  // CUDA_MEM_ALLOC_NODE_PARAMS
  CuPoolProps pool;
  char pool_rest[72];
  const void* access;
  std::size_t access_count;
  std::size_t size;
  CuPointer pointer;  // filled in by the driver
};
static_assert(sizeof(CuGraphAllocation) == 120);
inline constexpr int kCuAllocationNode = 10;
inline constexpr int kCuFreeNode = 11;
struct CuGraphNodeParams {
  int type;
  int reserved[3];
  union {
    CuGraphAllocation allocation;
    CuPointer freed;
  };
};

// Rows of the entry table, by name.
enum class Cu : std::uint8_t {
#define MEMTOOL_CU(name, base, version, ptsz) k_##name,
#include "cuda/functions.inc"
#undef MEMTOOL_CU
  kCount,
};

void* CudaReal(Cu function);

template <class Function>
Function CudaReal(Cu function) {
  return reinterpret_cast<Function>(CudaReal(function));
}

Provider& CudaProvider();

// An event's attributes in the calling thread's context, on its device.
Attributes CudaAttributes(wire::Space space, wire::Kind kind, const char* name);
std::uint64_t CudaFreeBytes();

// The device's primary context, when it is active; leaves its count as it was.
CuObject CudaPrimaryContext(CuDevice device);
bool CudaPrimaryIsActive(CuDevice device);

// An allocation in a stream that is being captured is a node of a graph: it takes no memory yet.
bool CudaCapturing(CuObject stream, bool per_thread);
// A node that will allocate or free when its graph runs.
void CudaGraphNode(wire::GraphOp operation, CuPointer pointer, std::size_t size);

// Records an allocation, or its failure.
void CudaAllocated(const Attributes& attributes, CuResult status, std::uint64_t key,
                   std::uint64_t size, bool estimated = false);

}  // namespace memtool::capture
