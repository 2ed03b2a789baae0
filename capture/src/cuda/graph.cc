// Wrappers of graphs. A node takes no memory; a launch may, and keeps it for the device's graphs.
// What they hold is queried after launches and trims, once an allocating node has been seen.
#include <atomic>

#include "cuda/call.h"
#include "cuda/wrappers.h"
#include "providers/wrapping.h"
#include "record/graph_memory.h"

namespace memtool::capture {

namespace {

constexpr int kReservedNow = 2;  // CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
constexpr int kActive = 1;       // CU_STREAM_CAPTURE_STATUS_ACTIVE

std::atomic<bool> g_nodes_seen{false};

void SampleGraphs(CuDevice device) {
  static DriverFunction cache{};
  const auto get = FindFunction<CuResult (*)(CuDevice, int, void*)>(
      CudaProvider(), "cuDeviceGetGraphMemAttribute", cache);
  std::uint64_t now = 0;
  if (device < 0 || device >= kMaxGraphDevices || get == nullptr ||
      get(device, kReservedNow, &now) != 0) {
    return;
  }
  RecordGraphMemory(device, now);
}

void Launched(bool wanted, CuResult status) {
  if (wanted && status == 0 && g_nodes_seen.load(std::memory_order_relaxed)) {
    SampleGraphs(CudaAttributes(wire::Space::kGraphs, wire::Kind::kDevice, "graphs").device);
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
              CudaAttributes(wire::Space::kDevicePointer, wire::Kind::kDevice, "graph nodes"),
              {.values = {static_cast<std::uint64_t>(operation), pointer, size},
               .count = 3,
               .with_stack = true});
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
  MEMTOOL_CUDA_REAL(cuGraphAddMemAllocNode);
  const CuResult status = real(node, graph, before, count, params);
  if (wanted && status == 0 && params != nullptr) {
    CudaGraphNode(GraphOp::kAlloc, params->pointer, params->size);
  }
  return status;
}

CuResult cuGraphAddMemFreeNode(CuObject* node, CuObject graph, const CuObject* before,
                               std::size_t count, CuPointer pointer) {
  MEMTOOL_CUDA_REAL(cuGraphAddMemFreeNode);
  const CuResult status = real(node, graph, before, count, pointer);
  if (wanted && status == 0) {
    CudaGraphNode(GraphOp::kFree, pointer, 0);
  }
  return status;
}

CuResult cuGraphAddNode(CuObject* node, CuObject graph, const CuObject* before, std::size_t count,
                        CuGraphNodeParams* params) {
  MEMTOOL_CUDA_REAL(cuGraphAddNode);
  const CuResult status = real(node, graph, before, count, params);
  NodeAdded(wanted, status, params);
  return status;
}

CuResult cuGraphAddNode_v2(CuObject* node, CuObject graph, const CuObject* before,
                           const void* edges, std::size_t count, CuGraphNodeParams* params) {
  MEMTOOL_CUDA_REAL(cuGraphAddNode_v2);
  const CuResult status = real(node, graph, before, edges, count, params);
  NodeAdded(wanted, status, params);
  return status;
}

CuResult cuGraphAddNode_v3(CuObject* node, CuObject graph, const CuObject* before,
                           const void* edges, std::size_t count, CuGraphNodeParams* params) {
  MEMTOOL_CUDA_REAL(cuGraphAddNode_v3);
  const CuResult status = real(node, graph, before, edges, count, params);
  NodeAdded(wanted, status, params);
  return status;
}

CuResult cuGraphLaunch(CuObject graph, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuGraphLaunch);
  const CuResult status = real(graph, stream);
  Launched(wanted, status);
  return status;
}

CuResult cuGraphLaunch_ptsz(CuObject graph, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuGraphLaunch_ptsz);
  const CuResult status = real(graph, stream);
  Launched(wanted, status);
  return status;
}

CuResult cuDeviceGraphMemTrim(CuDevice device) {
  MEMTOOL_CUDA_REAL(cuDeviceGraphMemTrim);
  const CuResult status = real(device);
  if (wanted && status == 0) {
    SampleGraphs(device);
  }
  return status;
}

}  // extern "C"
