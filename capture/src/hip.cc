// The provider for HIP: the table and wrappers of plain, managed, pinned and asynchronous
// allocations. hip_vmm.cc has the rest.
#include "hip.h"

#include "base.h"
#include "elf_image.h"
#include "hip_call.h"
#include "hip_wrappers.h"
#include "settings.h"

namespace memtool::capture {

namespace {

constexpr const char* kLibrary = "libamdhip64.so";

Entry g_entries[] = {
#define MEMTOOL_HIP(name) {#name, #name, 0, false, reinterpret_cast<void*>(&::name), {nullptr}},
#include "hip_functions.inc"
#undef MEMTOOL_HIP
};

// HIP tells its forms apart by name, not by version.
Provider g_hip{kLibrary, g_entries, sizeof g_entries / sizeof g_entries[0], UINT32_MAX, {0}, {0}};

}  // namespace

Provider& HipProvider() {
  return g_hip;
}

void* HipReal(Hip function) {
  return RealOf(g_entries[static_cast<std::size_t>(function)], kLibrary);
}

Book HipBook(wire::Space space, wire::Kind kind, const char* name) {
  static DriverFunction get_device{};
  Book book{.space = space, .kind = kind, .name = name};
  const auto device = FindFunction<HipStatus (*)(int*)>(g_hip, "hipGetDevice", get_device);
  int ordinal = -1;
  if (device != nullptr && device(&ordinal) == 0) {
    book.device = ordinal;
    book.context = static_cast<std::uint64_t>(ordinal) + 1;
  }
  return book;
}

void HipAllocated(const Book& book, HipStatus status, const void* pointer, std::uint64_t size,
                  bool estimated) {
  if (status == 0) {
    return RecordAlloc(book, Address(pointer), size, estimated);
  }
  static DriverFunction get_info{};
  std::size_t free_bytes = UINT64_MAX;
  if (status == kHipOutOfMemory && book.device >= 0) {
    const auto info =
        FindFunction<HipStatus (*)(std::size_t*, std::size_t*)>(g_hip, "hipMemGetInfo", get_info);
    std::size_t total = 0;
    if (info == nullptr || info(&free_bytes, &total) != 0) {
      free_bytes = UINT64_MAX;
    }
  }
  RecordFailed(book, size, static_cast<std::uint64_t>(status), free_bytes);
}

}  // namespace memtool::capture

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::Kind;
using memtool::wire::Space;

constexpr std::uint64_t kPerThreadStream = 2;

// Plain device memory, in the given book.
void Allocated(bool wanted, HipStatus status, void* const* pointer, std::uint64_t size,
               Kind kind = Kind::kDevice) {
  if (wanted) {
    HipAllocated(
        HipBook(Space::kDevicePointer, kind, kind == Kind::kManaged ? "managed" : "device"), status,
        status == 0 ? *pointer : nullptr, size);
  }
}

// An allocation in a captured stream is a node of a graph: nothing is taken by the call.
bool Captured(HipObject stream) {
  static DriverFunction is_capturing{};
  const auto ask = FindFunction<HipStatus (*)(HipObject, int*)>(
      HipProvider(), "hipStreamIsCapturing", is_capturing);
  int state = 0;
  return ask != nullptr && ask(stream, &state) == 0 && state == 1;
}

void GraphNode(memtool::wire::GraphOp operation, const void* pointer, std::size_t size) {
  RecordPlain(memtool::wire::Tag::kGraphNode,
              HipBook(Space::kDevicePointer, Kind::kDevice, "graph nodes"),
              {.values = {static_cast<std::uint64_t>(operation), Address(pointer), size},
               .count = 3,
               .with_stack = true});
}

void Async(HipStatus status, void* const* pointer, std::size_t size, const void* pool,
           HipObject stream) {
  if (status == 0 && Captured(stream)) {
    return GraphNode(memtool::wire::GraphOp::kAlloc, *pointer, size);
  }
  Book book = HipBook(Space::kDevicePointer, Kind::kDevice, "async");
  book.stream = Address(stream);
  book.pool = Address(pool);
  HipAllocated(book, status, status == 0 ? *pointer : nullptr, size);
}

void Pinned(bool wanted, HipStatus status, const void* pointer, std::size_t size,
            const char* name) {
  if (wanted && GetSettings().pinned) {
    Book book = HipBook(Space::kHostPointer, Kind::kPinned, name);
    book.device = -1;
    HipAllocated(book, status, pointer, size);
  }
}

HipStatus FreeHost(bool wanted, void* pointer, HipStatus (*real)(void*)) {
  return RecordedFree(wanted && GetSettings().pinned, FreeBook(Space::kHostPointer),
                      Address(pointer), [&] { return real(pointer); });
}

}  // namespace

extern "C" {

HipStatus hipGetProcAddress(const char* symbol, void** pointer, int version, std::uint64_t flags,
                            void* found) {
  MEMTOOL_HIP_REAL(hipGetProcAddress);
  (void)wanted;
  const HipStatus status = real(symbol, pointer, version, flags, found);
  if (status == 0 && busy.entered() && pointer != nullptr && symbol != nullptr) {
    *pointer = SwapByPointer(HipProvider(), *pointer, symbol, static_cast<std::uint32_t>(version),
                             (flags & kPerThreadStream) != 0);
  }
  return status;
}

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
  return RecordedFree(wanted, FreeBook(Space::kDevicePointer), Address(pointer),
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
  return RecordedFree(wanted, StreamBook(stream), Address(pointer),
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
