// The HIP runtime (libamdhip64.so) as far as the shim wraps it: types of our own, from the
// documented ABI. Its status codes for "out of memory" and "no device" are CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/provider.h"
#include "record/recorder.h"

namespace memtool::capture {

using HipStatus = int;
using HipHandle = void*;  // of physical memory
using HipObject = void*;  // streams, arrays, pools

inline constexpr HipStatus kHipOutOfMemory = 2;
inline constexpr HipStatus kHipNoDevice = 100;  // hipErrorNoDevice

struct HipLocation {
  int type;  // 1 = device
  int id;
};
struct HipProps {  // the heads of hipMemAllocationProp and hipMemPoolProps
  int type;
  int handle_types;
  HipLocation location;
};
struct HipIpcHandle {
  char bytes[64];
};
struct HipPitched {
  void* pointer;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
};
struct HipChannels {  // bits of each
  int x;
  int y;
  int z;
  int w;
  int kind;
};
struct HipArrayDescriptor {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct HipArray3dDescriptor {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};

// Rows of the entry table, by name.
enum class Hip : std::uint8_t {
#define MEMTOOL_HIP(name) k_##name,
#include "hip/functions.inc"
#undef MEMTOOL_HIP
  kCount,
};

void* HipReal(Hip function);

template <class Function>
Function HipReal(Hip function) {
  return reinterpret_cast<Function>(HipReal(function));
}

Provider& HipProvider();

// An event's attributes on the calling thread's device; its number + 1 stands for its context.
Attributes HipAttributes(wire::Space space, wire::Kind kind, const char* name);
// Records an allocation, or its failure.
void HipAllocated(const Attributes& attributes, HipStatus status, const void* pointer,
                  std::uint64_t size, bool estimated = false);

}  // namespace memtool::capture
