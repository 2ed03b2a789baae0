// Graphs. A node takes no memory; a launch may, and keeps it for the device's graphs. What they
// hold is asked after launches and trims, once a node that allocates was seen, and kept as one
// allocation per device whose size changes.
#include "base.h"
#include "cuda_wrappers.h"
#include "elf_image.h"
#include "wrapping.h"

#define MEMTOOL_REAL(name)                                     \
  const auto real = CudaReal<decltype(&::name)>(Cu::k_##name); \
  if (real == nullptr) {                                       \
    return kCuNoDevice;                                        \
  }                                                            \
  const Busy busy;                                             \
  const bool wanted = busy.entered() && Recording()

namespace memtool::capture {

namespace {

constexpr int kReservedNow = 2;  // CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
constexpr int kActive = 1;       // CU_STREAM_CAPTURE_STATUS_ACTIVE
constexpr CuDevice kMostDevices = 64;

std::atomic<bool> g_nodes_seen{false};
Lock g_held_lock;
std::uint64_t g_held[kMostDevices];

void SampleGraphs(CuDevice device) {
  static DriverFunction cache{};
  const auto get = FindFunction<CuResult (*)(CuDevice, int, void*)>(
      CudaProvider(), "cuDeviceGetGraphMemAttribute", cache);
  std::uint64_t now = 0;
  if (device < 0 || device >= kMostDevices || get == nullptr ||
      get(device, kReservedNow, &now) != 0) {
    return;
  }
  const Hold hold(g_held_lock);
  if (g_held[device] == now) {
    return;
  }
  const auto key = static_cast<std::uint64_t>(device) + 1;
  if (g_held[device] != 0) {
    RecordFree(FreeBook(wire::Space::kGraphs), key);
  }
  if (now != 0) {
    RecordAlloc(Book{.space = wire::Space::kGraphs, .device = device, .name = "graphs"}, key, now);
  }
  g_held[device] = now;
}

void Launched(bool wanted, CuResult status) {
  if (wanted && status == 0 && g_nodes_seen.load(std::memory_order_relaxed)) {
    SampleGraphs(CudaBook(wire::Space::kGraphs, wire::Kind::kDevice, "graphs").device);
  }
}

}  // namespace

bool CudaCapturing(CuObject stream, bool per_thread) {
  static DriverFunction plain{};
  static DriverFunction own{};
  using IsCapturing = CuResult (*)(CuObject, int*);
  const auto is_capturing =
      per_thread ? FindFunction<IsCapturing>(CudaProvider(), "cuStreamIsCapturing_ptsz", own)
                 : FindFunction<IsCapturing>(CudaProvider(), "cuStreamIsCapturing", plain);
  int state = 0;
  return is_capturing != nullptr && is_capturing(stream, &state) == 0 && state == kActive;
}

void CudaGraphNode(wire::GraphOp operation, CuPointer pointer, std::size_t size) {
  g_nodes_seen.store(true, std::memory_order_relaxed);
  RecordPlain(wire::Tag::kGraphNode,
              CudaBook(wire::Space::kDevicePointer, wire::Kind::kDevice, "graph nodes"),
              {.values = {static_cast<std::uint64_t>(operation), pointer, size},
               .count = 3,
               .with_stack = true});
}

void ForgetGraphs() {
  g_held_lock.Reset();
  for (std::uint64_t& held : g_held) {
    held = 0;
  }
}

}  // namespace memtool::capture

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::GraphOp;

void NodeAdded(bool wanted, CuResult status, const CuGraphNodeParams* params) {
  if (!wanted || status != 0 || params == nullptr) {
    return;
  }
  if (params->type == kCuAllocationNode) {
    CudaGraphNode(GraphOp::kAlloc, params->allocation.pointer, params->allocation.size);
  } else if (params->type == kCuFreeNode) {
    CudaGraphNode(GraphOp::kFree, params->freed, 0);
  }
}

}  // namespace

extern "C" {

CuResult cuGraphAddMemAllocNode(CuObject* node, CuObject graph, const CuObject* before,
                                std::size_t count, CuGraphAllocation* params) {
  MEMTOOL_REAL(cuGraphAddMemAllocNode);
  const CuResult status = real(node, graph, before, count, params);
  if (wanted && status == 0 && params != nullptr) {
    CudaGraphNode(GraphOp::kAlloc, params->pointer, params->size);
  }
  return status;
}

CuResult cuGraphAddMemFreeNode(CuObject* node, CuObject graph, const CuObject* before,
                               std::size_t count, CuPointer pointer) {
  MEMTOOL_REAL(cuGraphAddMemFreeNode);
  const CuResult status = real(node, graph, before, count, pointer);
  if (wanted && status == 0) {
    CudaGraphNode(GraphOp::kFree, pointer, 0);
  }
  return status;
}

CuResult cuGraphAddNode(CuObject* node, CuObject graph, const CuObject* before, std::size_t count,
                        CuGraphNodeParams* params) {
  MEMTOOL_REAL(cuGraphAddNode);
  const CuResult status = real(node, graph, before, count, params);
  NodeAdded(wanted, status, params);
  return status;
}

CuResult cuGraphAddNode_v2(CuObject* node, CuObject graph, const CuObject* before,
                           const void* edges, std::size_t count, CuGraphNodeParams* params) {
  MEMTOOL_REAL(cuGraphAddNode_v2);
  const CuResult status = real(node, graph, before, edges, count, params);
  NodeAdded(wanted, status, params);
  return status;
}

CuResult cuGraphLaunch(CuObject graph, CuObject stream) {
  MEMTOOL_REAL(cuGraphLaunch);
  const CuResult status = real(graph, stream);
  Launched(wanted, status);
  return status;
}

CuResult cuGraphLaunch_ptsz(CuObject graph, CuObject stream) {
  MEMTOOL_REAL(cuGraphLaunch_ptsz);
  const CuResult status = real(graph, stream);
  Launched(wanted, status);
  return status;
}

CuResult cuDeviceGraphMemTrim(CuDevice device) {
  MEMTOOL_REAL(cuDeviceGraphMemTrim);
  const CuResult status = real(device);
  if (wanted && status == 0) {
    SampleGraphs(device);
  }
  return status;
}

}  // extern "C"
