// The HIP runtime (libamdhip64.so) as far as the shim wraps it: types of our own, from the
// documented ABI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/provider.h"
#include "providers/wrapping.h"

namespace memtool::capture {

using HipStatus = int;
using HipHandle = void*;  // of physical memory
using HipObject = void*;  // streams, arrays, pools

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

// Rows of the entry table, by name.
enum class HipRow : std::uint8_t {
#define MEMTOOL_HIP(name, ...) k_##name,
#include "hip/functions.inc"
#undef MEMTOOL_HIP
  kCount,
};

void* HipReal(HipRow function);
Provider& HipProvider();

}  // namespace memtool::capture
