// The wrappers, made from functions.inc, and what only CUDA has: pools with a place, primary
// contexts, graphs. A graph's node takes no memory; a launch may, and keeps it for the device's
// graphs. What they hold is queried after launches and trims, once an allocating node has been
// seen.
#include "cuda/wrappers.h"

#include <atomic>

#include "providers/wrapping.h"
#include "record/graph_memory.h"

namespace memtool::capture {

namespace {

std::atomic<bool> g_nodes_seen{false};

struct Cuda {
  static Attributes Here(const Memory& memory) {
    return CudaAttributes(memory.space, memory.kind, memory.name);
  }
  static std::uint64_t FreeBytes(const Attributes& attributes) {
    return attributes.space == Space::kHostPointer ? UINT64_MAX : CudaFreeBytes();
  }
  static bool Capturing(CuObject stream, bool per_thread) {
    constexpr int kActive = 1;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
    static DriverFunction plain{};
    static DriverFunction own{};
    using IsCapturing = CuResult (*)(CuObject, int*);
    const auto is_capturing =
        per_thread ? FindFunction<IsCapturing>(CudaProvider(), "cuStreamIsCapturing_ptsz", own)
                   : FindFunction<IsCapturing>(CudaProvider(), "cuStreamIsCapturing", plain);
    int state = 0;
    return is_capturing != nullptr && is_capturing(stream, &state) == 0 && state == kActive;
  }
  static void GraphNode(GraphOp operation, CuPointer pointer, std::size_t size) {
    g_nodes_seen.store(true, std::memory_order_relaxed);
    RecordGraphNode(Here(kNodes), operation, pointer, size);
  }
};

// --- places and pools

constexpr int kNowhere = 0;      // CU_MEM_LOCATION_TYPE_NONE
constexpr int kOnDevice = 1;     // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kLastOnHost = 4;   // HOST, HOST_NUMA and HOST_NUMA_CURRENT come before it
constexpr int kManagedType = 2;  // CU_MEM_ALLOCATION_TYPE_MANAGED

// For a part of a device (DEVICE_LOCALITY_DOMAIN, since 13.4), `id` has the device in its low byte
// and the part in the next.
std::int32_t GetDevice(const CuLocation& location) {
  constexpr unsigned kDeviceByte = 0xff;
  if (location.type == kOnDevice) {
    return location.id;
  }
  return location.type > kLastOnHost
             ? static_cast<std::int32_t>(static_cast<unsigned>(location.id) & kDeviceByte)
             : -1;
}
std::int32_t GetDevice(const CuAllocationProp* props) {
  return props == nullptr ? -1 : GetDevice(props->location);
}

// Managed memory without a preferred location is the current device's, as that of
// cuMemAllocManaged.
void RecordPoolAt(CuObject pool, const CuLocation& location, int type, bool once) {
  const bool managed = type == kManagedType;
  const bool anywhere = managed && location.type == kNowhere;
  const std::int32_t device = anywhere ? -1 : GetDevice(location);
  Attributes attributes{.name = "pool"};
  if (managed) {
    attributes.kind = Kind::kManaged;
    attributes.name = "managed";
  } else if (device < 0) {
    attributes.kind = Kind::kPinned;
    attributes.name = "async";
  }
  RecordPool(pool, anywhere ? PoolOp::kCreateAnywhere : PoolOp::kCreate, device, 0, attributes,
             once);
}

template <class Call>
int MakePool(const Call& call, const CuObject* pool, const CuPoolProps* props) {
  return After(call.If(props != nullptr),
               [&] { RecordPoolAt(*pool, props->location, props->type, false); });
}

// One that the driver made, which may be asked for all the time.
template <class Call>
int HandOutPool(const Call& call, const CuObject* pool, const CuLocation* location, int type) {
  return After(call.If(pool != nullptr && location != nullptr),
               [&] { RecordPoolAt(*pool, *location, type, true); });
}

// --- arrays

std::uint64_t MipmapBytes(const Array3dDescriptor* descriptor, unsigned levels) {
  std::uint64_t bytes = 0;
  Array3dDescriptor array = descriptor == nullptr ? Array3dDescriptor{} : *descriptor;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    const std::uint64_t more = ArrayBytes(&array);
    bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
    array.width /= 2;
    array.height /= 2;
    array.depth /= 2;
  }
  return bytes;
}

// --- graphs

void SampleGraphs(CuDevice device) {
  constexpr int kReservedNow = 2;  // CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
  static DriverFunction cache{};
  const auto get = FindFunction<CuResult (*)(CuDevice, int, void*)>(
      CudaProvider(), "cuDeviceGetGraphMemAttribute", cache);
  std::uint64_t now = 0;
  if (device >= 0 && device < kMaxGraphDevices && get != nullptr &&
      get(device, kReservedNow, &now) == 0) {
    RecordGraphMemory(device, now);
  }
}

void SampleGraphsHere() {
  if (g_nodes_seen.load(std::memory_order_relaxed)) {
    SampleGraphs(CudaAttributes(Space::kGraphs, Kind::kDevice, "graphs").device);
  }
}

template <class Call>
int AddAllocNode(const Call& call, const CuGraphAllocation* params) {
  return After(call.If(params != nullptr),
               [&] { Cuda::GraphNode(GraphOp::kAlloc, params->pointer, params->size); });
}

template <class Call>
int AddNode(const Call& call, const CuGraphNodeParams* params) {
  return After(call.If(params != nullptr), [&] {
    if (params->type == kCuAllocationNode) {
      Cuda::GraphNode(GraphOp::kAlloc, params->allocation.pointer, params->allocation.size);
    } else if (params->type == kCuFreeNode) {
      Cuda::GraphNode(GraphOp::kFree, params->freed, 0);
    }
  });
}

// --- contexts, and the resolver

// Only after the call is it known whether that was the last reference.
template <class Call>
int ReleasePrimary(const Call& call, CuDevice device) {
  CuObject context = call.wanted ? CudaPrimaryContext(device) : nullptr;
  return After(call.If(context != nullptr), [&] {
    if (!CudaPrimaryIsActive(device)) {
      RecordContextEnd(Key(context), device);
    }
  });
}

template <class Call>
int Swapped(const Call& call, const char* symbol, void** pointer, int version,
            std::uint64_t flags) {
  return SwapFound(call, CudaProvider(), symbol, pointer, version, flags);
}

}  // namespace

extern "C" {
#define MEMTOOL_CU(name, base, version, per_thread, parameters, arguments, ...) \
  MEMTOOL_WRAPPER(Cuda, CudaReal(CuRow::k_##name), name, parameters, arguments, __VA_ARGS__)
#include "cuda/functions.inc"
#undef MEMTOOL_CU
}

}  // namespace memtool::capture
