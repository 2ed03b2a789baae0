// Wrappers of plain, pitched, managed, pinned and asynchronous allocations.
#include "base/settings.h"
#include "hip/call.h"
#include "hip/wrappers.h"
#include "providers/wrapping.h"

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::Kind;
using memtool::wire::Space;

// Plain device memory, in the given attributes.
void Allocated(bool wanted, HipStatus status, void* const* pointer, std::uint64_t size,
               Kind kind = Kind::kDevice) {
  if (wanted) {
    HipAllocated(
        HipAttributes(Space::kDevicePointer, kind, kind == Kind::kManaged ? "managed" : "device"),
        status, status == 0 ? *pointer : nullptr, size);
  }
}

// An allocation in a captured stream is a node of a graph: the call takes no memory.
bool Captured(HipObject stream) {
  static DriverFunction is_capturing{};
  const auto ask = FindFunction<HipStatus (*)(HipObject, int*)>(
      HipProvider(), "hipStreamIsCapturing", is_capturing);
  int state = 0;
  return ask != nullptr && ask(stream, &state) == 0 && state == 1;
}

void GraphNode(memtool::wire::GraphOp operation, const void* pointer, std::size_t size) {
  RecordPlain(memtool::wire::Tag::kGraphNode,
              HipAttributes(Space::kDevicePointer, Kind::kDevice, "graph nodes"),
              {.values = {static_cast<std::uint64_t>(operation), Address(pointer), size},
               .count = 3,
               .with_stack = true});
}

void Async(HipStatus status, void* const* pointer, std::size_t size, const void* pool,
           HipObject stream) {
  if (status == 0 && Captured(stream)) {
    return GraphNode(memtool::wire::GraphOp::kAlloc, *pointer, size);
  }
  Attributes attributes = HipAttributes(Space::kDevicePointer, Kind::kDevice, "async");
  attributes.stream = Address(stream);
  attributes.pool = Address(pool);
  HipAllocated(attributes, status, status == 0 ? *pointer : nullptr, size);
}

void Pinned(bool wanted, HipStatus status, const void* pointer, std::size_t size,
            const char* name) {
  if (wanted && GetSettings().pinned) {
    Attributes attributes = HipAttributes(Space::kHostPointer, Kind::kPinned, name);
    attributes.device = -1;
    HipAllocated(attributes, status, pointer, size);
  }
}

HipStatus FreeHost(bool wanted, void* pointer, HipStatus (*real)(void*)) {
  return RecordedFree(wanted && GetSettings().pinned, FreeAttributes(Space::kHostPointer),
                      Address(pointer), [&] { return real(pointer); });
}

}  // namespace

extern "C" {

HipStatus hipMalloc(void** pointer, std::size_t size) {
  MEMTOOL_HIP_REAL(hipMalloc);
  const HipStatus status = real(pointer, size);
  Allocated(wanted && size != 0, status, pointer, size);
  return status;
}

HipStatus hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_HIP_REAL(hipExtMallocWithFlags);
  const HipStatus status = real(pointer, size, flags);
  Allocated(wanted && size != 0, status, pointer, size);
  return status;
}

HipStatus hipMallocManaged(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_HIP_REAL(hipMallocManaged);
  const HipStatus status = real(pointer, size, flags);
  Allocated(wanted, status, pointer, size, Kind::kManaged);
  return status;
}

HipStatus hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                         std::size_t height) {
  MEMTOOL_HIP_REAL(hipMallocPitch);
  const HipStatus status = real(pointer, pitch, width, height);
  Allocated(wanted, status, pointer, Product(status == 0 ? *pitch : width, height));
  return status;
}

HipStatus hipMemAllocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                           std::size_t height, unsigned element_size) {
  MEMTOOL_HIP_REAL(hipMemAllocPitch);
  const HipStatus status = real(pointer, pitch, width, height, element_size);
  Allocated(wanted, status, pointer, Product(status == 0 ? *pitch : width, height));
  return status;
}

HipStatus hipMalloc3D(HipPitched* pitched, Extent extent) {
  MEMTOOL_HIP_REAL(hipMalloc3D);
  const HipStatus status = real(pitched, extent);
  if (pitched != nullptr) {
    Allocated(
        wanted, status, &pitched->pointer,
        Product(Product(status == 0 ? pitched->pitch : extent.width, extent.height), extent.depth));
  }
  return status;
}

HipStatus hipFree(void* pointer) {
  MEMTOOL_HIP_REAL(hipFree);
  return RecordedFree(wanted, FreeAttributes(Space::kDevicePointer), Address(pointer),
                      [&] { return real(pointer); });
}

HipStatus hipMallocAsync(void** pointer, std::size_t size, HipObject stream) {
  MEMTOOL_HIP_REAL(hipMallocAsync);
  const HipStatus status = real(pointer, size, stream);
  if (wanted) {
    Async(status, pointer, size, nullptr, stream);
  }
  return status;
}

HipStatus hipMallocFromPoolAsync(void** pointer, std::size_t size, HipObject pool,
                                 HipObject stream) {
  MEMTOOL_HIP_REAL(hipMallocFromPoolAsync);
  const HipStatus status = real(pointer, size, pool, stream);
  if (wanted) {
    Async(status, pointer, size, pool, stream);
  }
  return status;
}

HipStatus hipFreeAsync(void* pointer, HipObject stream) {
  MEMTOOL_HIP_REAL(hipFreeAsync);
  if (wanted && Captured(stream)) {
    const HipStatus status = real(pointer, stream);
    if (status == 0) {
      GraphNode(memtool::wire::GraphOp::kFree, pointer, 0);
    }
    return status;
  }
  return RecordedFree(wanted, StreamFreeAttributes(stream), Address(pointer),
                      [&] { return real(pointer, stream); });
}

HipStatus hipHostMalloc(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_HIP_REAL(hipHostMalloc);
  const HipStatus status = real(pointer, size, flags);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

HipStatus hipHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_HIP_REAL(hipHostAlloc);
  const HipStatus status = real(pointer, size, flags);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

HipStatus hipMallocHost(void** pointer, std::size_t size) {
  MEMTOOL_HIP_REAL(hipMallocHost);
  const HipStatus status = real(pointer, size);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

HipStatus hipMemAllocHost(void** pointer, std::size_t size) {
  MEMTOOL_HIP_REAL(hipMemAllocHost);
  const HipStatus status = real(pointer, size);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

HipStatus hipHostFree(void* pointer) {
  MEMTOOL_HIP_REAL(hipHostFree);
  return FreeHost(wanted, pointer, real);
}

HipStatus hipFreeHost(void* pointer) {
  MEMTOOL_HIP_REAL(hipFreeHost);
  return FreeHost(wanted, pointer, real);
}

HipStatus hipHostRegister(void* pointer, std::size_t size, unsigned flags) {
  MEMTOOL_HIP_REAL(hipHostRegister);
  const HipStatus status = real(pointer, size, flags);
  Pinned(wanted, status, pointer, size, "registered");
  return status;
}

HipStatus hipHostUnregister(void* pointer) {
  MEMTOOL_HIP_REAL(hipHostUnregister);
  return FreeHost(wanted, pointer, real);
}

}  // extern "C"
