// The CUDA driver API as far as the shim wraps it: types of our own, from the documented ABI, so
// that no vendor header is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/provider.h"
#include "providers/wrapping.h"
#include "record/recorder.h"

namespace memtool::capture {

using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuHandle = unsigned long long;
using CuObject = void*;  // contexts, streams, arrays, pools

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
enum class CuRow : std::uint8_t {
#define MEMTOOL_CU(name, ...) k_##name,
#include "cuda/functions.inc"
#undef MEMTOOL_CU
  kCount,
};

void* CudaReal(CuRow function);
Provider& CudaProvider();

// An event's attributes in the calling thread's context, on its device.
Attributes CudaAttributes(wire::Space space, wire::Kind kind, const char* name);
std::uint64_t CudaFreeBytes();

// The device's primary context, when it is active; leaves its count as it was.
CuObject CudaPrimaryContext(CuDevice device);
bool CudaPrimaryIsActive(CuDevice device);

}  // namespace memtool::capture
