#include "fakes/fake_graphs.h"

#include <set>

#include "fakes/fake_trace.h"

namespace fake {

namespace {

struct Graph {
  int device = 0;
  std::uint64_t bytes = 0;  // of its allocations
  bool ran = false;
};

std::map<void*, Graph*> g_captured;  // by stream
std::set<Pointer> g_pointers;
std::uint64_t g_reserved[kDevices];

Pointer NewNode(Graph& graph, std::size_t size) {
  graph.bytes += size;
  const Pointer pointer = Reserve(size);
  g_pointers.insert(pointer);
  return pointer;
}

// What the graphs of a device hold is one entry in the books, whose size changes.
void Hold(int device, std::uint64_t bytes) {
  const std::scoped_lock lock(B().mutex);
  const Block before{.size = g_reserved[device],
                     .book = BookName(device, "graphs"),
                     .device = device,
                     .context = nullptr};
  if (before.size != 0) {
    Leave(before);
  }
  g_reserved[device] = bytes;
  if (bytes != 0) {
    Block after = before;
    after.size = bytes;
    Enter(after);
  }
}

}  // namespace

bool NodeOfCapture(void* stream, std::size_t size, Pointer* pointer) {
  const auto found = g_captured.find(stream);
  if (found == g_captured.end()) {
    return false;
  }
  *pointer = NewNode(*found->second, size);
  return true;
}

bool FreedInGraph(void* stream, Pointer pointer) {
  return g_captured.count(stream) != 0 || g_pointers.erase(pointer) != 0;
}

}  // namespace fake

using namespace fake;  // NOLINT(google-build-using-namespace)

struct AllocationNode {
  int pool[22];
  const void* access;
  std::size_t access_count;
  std::size_t size;
  Pointer pointer;
};
struct NodeParams {
  int type;
  int reserved[3];
  union {
    AllocationNode allocation;
    Pointer freed;
  };
};

API int cuStreamBeginCapture_v2(void* stream, int) {
  g_captured[stream] = new Graph{.device = t_context->device};
  return kOk;
}
API int cuStreamEndCapture(void* stream, void** graph) {
  *graph = g_captured[stream];
  g_captured.erase(stream);
  return kOk;
}
API int cuStreamIsCapturing(void* stream, int* state) {
  *state = static_cast<int>(g_captured.count(stream));
  return kOk;
}
API int cuStreamIsCapturing_ptsz(void* stream, int* state) {
  return cuStreamIsCapturing(stream, state);
}
API int cuGraphCreate(void** graph, unsigned) {
  *graph = new Graph{.device = t_context->device};
  return kOk;
}
API int cuGraphInstantiateWithFlags(void** program, void* graph, unsigned long long) {
  *program = graph;
  return kOk;
}
API int cuGraphAddMemAllocNode(void** node, void* graph, void* const* before, std::size_t count,
                               AllocationNode* params) {
  return Traced(
      638,
      [&]() -> int {
        params->pointer = NewNode(*static_cast<Graph*>(graph), params->size);
        *node = params;
        return kOk;
      },
      node, graph, before, count, params);
}
API int cuGraphAddMemFreeNode(void** node, void* graph, void* const* before, std::size_t count,
                              Pointer pointer) {
  return Traced(
      639,
      [&]() -> int {
        *node = graph;
        return g_pointers.count(pointer) != 0 ? kOk : kInvalid;
      },
      node, graph, before, count, pointer);
}
API int cuGraphAddNode(void** node, void* graph, void* const* before, std::size_t count,
                       NodeParams* params) {
  return Traced(
      712,
      [&]() -> int {
        return params->type == 10
                   ? cuGraphAddMemAllocNode(node, graph, before, count, &params->allocation)
                   : cuGraphAddMemFreeNode(node, graph, before, count, params->freed);
      },
      node, graph, before, count, params);
}
API int cuGraphAddNode_v2(void** node, void* graph, void* const* before, const void* edges,
                          std::size_t count, NodeParams* params) {
  return Traced(
      723, [&]() -> int { return cuGraphAddNode(node, graph, before, count, params); }, node, graph,
      before, edges, count, params);
}
// Its CUPTI callback number is not known here: an observer sees the call that it makes.
API int cuGraphAddNode_v3(void** node, void* graph, void* const* before, const void* /*edges*/,
                          std::size_t count, NodeParams* params) {
  return cuGraphAddNode(node, graph, before, count, params);
}
// The first launch takes the memory; it is kept for the next.
API int cuGraphLaunch(void* program, void* stream) {
  return Traced(
      514,
      [&]() -> int {
        auto& graph = *static_cast<Graph*>(program);
        if (!graph.ran && graph.bytes != 0) {
          Hold(graph.device, g_reserved[graph.device] + graph.bytes);
        }
        graph.ran = true;
        return kOk;
      },
      program, stream);
}
API int cuGraphLaunch_ptsz(void* program, void* stream) {
  return Traced(
      515, [&]() -> int { return cuGraphLaunch(program, stream); }, program, stream);
}
API int cuDeviceGraphMemTrim(int device) {
  return Traced(
      640,
      [&]() -> int {
        Hold(device, 0);
        return kOk;
      },
      device);
}
API int cuDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
  if (attribute != 2) {
    return kInvalid;
  }
  *static_cast<std::uint64_t*>(value) = g_reserved[device];
  return kOk;
}
