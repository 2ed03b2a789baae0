// Wrappers of the virtual memory functions, of memory from other processes, pools and contexts. The
// log gets what was called; the reader works out what that means for physical memory.
#include "cuda/call.h"
#include "cuda/wrappers.h"
#include "objects/elf_image.h"
#include "providers/wrapping.h"

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::Kind;
using memtool::wire::PoolOp;
using memtool::wire::Space;
using memtool::wire::Tag;

constexpr int kNowhere = 0;     // CU_MEM_LOCATION_TYPE_NONE
constexpr int kOnDevice = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kLastOnHost = 4;  // HOST, HOST_NUMA and HOST_NUMA_CURRENT come before it
constexpr int kManaged = 2;     // CU_MEM_ALLOCATION_TYPE_MANAGED

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

// A pool that was made, or handed out: one that the driver made, which may be asked for all the
// time
// (`once`). Managed memory without a preferred location is the current device's, as that of
// cuMemAllocManaged.
void RecordPoolAt(const void* pool, const CuLocation& location, int type, bool once) {
  const bool managed = type == kManaged;
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

void PoolHandedOut(bool wanted, CuResult status, CuObject* pool, const CuLocation* location,
                   int type) {
  if (wanted && status == 0 && pool != nullptr && location != nullptr) {
    RecordPoolAt(*pool, *location, type, true);
  }
}

}  // namespace

CuObject memtool::capture::CudaPrimaryContext(CuDevice device) {
  using GetState = CuResult (*)(CuDevice, unsigned*, int*);
  using Retain = CuResult (*)(CuObject*, CuDevice);
  const auto state =
      reinterpret_cast<GetState>(FindSymbolAnywhere("cuDevicePrimaryCtxGetState", "libcuda.so"));
  const auto retain =
      reinterpret_cast<Retain>(FindSymbolAnywhere("cuDevicePrimaryCtxRetain", "libcuda.so"));
  const auto release = reinterpret_cast<decltype(&::cuDevicePrimaryCtxRelease_v2)>(
      FindSymbolAnywhere("cuDevicePrimaryCtxRelease_v2", "libcuda.so"));
  unsigned flags = 0;
  int active = 0;
  CuObject context = nullptr;
  if (state == nullptr || retain == nullptr || release == nullptr ||
      state(device, &flags, &active) != 0 || active == 0 || retain(&context, device) != 0) {
    return nullptr;
  }
  release(device);
  return context;
}

bool memtool::capture::CudaPrimaryIsActive(CuDevice device) {
  using GetState = CuResult (*)(CuDevice, unsigned*, int*);
  const auto state =
      reinterpret_cast<GetState>(FindSymbolAnywhere("cuDevicePrimaryCtxGetState", "libcuda.so"));
  unsigned flags = 0;
  int active = 0;
  return state != nullptr && state(device, &flags, &active) == 0 && active != 0;
}

extern "C" {

CuResult cuMemCreate(CuHandle* handle, std::size_t size, const CuAllocationProp* prop,
                     unsigned long long flags) {
  MEMTOOL_CUDA_REAL(cuMemCreate);
  const CuResult status = real(handle, size, prop, flags);
  if (wanted && prop != nullptr) {
    Attributes attributes = HandleAttributes();
    attributes.device = GetDevice(prop->location);
    CudaAllocated(attributes, status, status == 0 ? *handle : 0, size);
  }
  return status;
}

CuResult cuMemRelease(CuHandle handle) {
  MEMTOOL_CUDA_REAL(cuMemRelease);
  // Before the call, as frees are: the driver may reuse the handle at once.
  if (wanted) {
    RecordPlain(Tag::kRelease, HandleAttributes(), {.values = {handle}, .count = 1});
  }
  const CuResult status = real(handle);
  if (wanted && status != 0) {
    RecordFreeFailed(HandleAttributes(), handle, static_cast<std::uint64_t>(status));
  }
  return status;
}

CuResult cuMemRetainAllocationHandle(CuHandle* handle, void* address) {
  MEMTOOL_CUDA_REAL(cuMemRetainAllocationHandle);
  const CuResult status = real(handle, address);
  if (wanted && status == 0) {
    RecordPlain(Tag::kRetain, HandleAttributes(), {.values = {*handle}, .count = 1});
  }
  return status;
}

CuResult cuMemMap(CuPointer pointer, std::size_t size, std::size_t offset, CuHandle handle,
                  unsigned long long flags) {
  MEMTOOL_CUDA_REAL(cuMemMap);
  const CuResult status = real(pointer, size, offset, handle, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kMap, HandleAttributes(),
                {.values = {handle, pointer, size, offset}, .count = 4});
  }
  return status;
}

CuResult cuMemUnmap(CuPointer pointer, std::size_t size) {
  MEMTOOL_CUDA_REAL(cuMemUnmap);
  if (wanted) {
    RecordPlain(Tag::kUnmap, AddressAttributes(), {.values = {pointer, size}, .count = 2});
  }
  const CuResult status = real(pointer, size);
  if (wanted && status != 0) {
    RecordFreeFailed(AddressAttributes(), pointer, static_cast<std::uint64_t>(status));
  }
  return status;
}

CuResult cuMemAddressReserve(CuPointer* pointer, std::size_t size, std::size_t alignment,
                             CuPointer wish, unsigned long long flags) {
  MEMTOOL_CUDA_REAL(cuMemAddressReserve);
  const CuResult status = real(pointer, size, alignment, wish, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kReserve, AddressAttributes(),
                {.values = {*pointer, size}, .count = 2, .with_stack = true});
  }
  return status;
}

CuResult cuMemAddressFree(CuPointer pointer, std::size_t size) {
  MEMTOOL_CUDA_REAL(cuMemAddressFree);
  return RecordedUnreserve(wanted, pointer, size, [&] { return real(pointer, size); });
}

CuResult cuMemImportFromShareableHandle(CuHandle* handle, void* shared, int type) {
  MEMTOOL_CUDA_REAL(cuMemImportFromShareableHandle);
  const CuResult status = real(handle, shared, type);
  if (wanted && status == 0) {
    RecordPlain(Tag::kImport, HandleAttributes(),
                {.values = {*handle, 0}, .count = 2, .with_stack = true});
  }
  return status;
}

CuResult cuIpcOpenMemHandle_v2(CuPointer* pointer, CuIpcHandle handle, unsigned flags) {
  MEMTOOL_CUDA_REAL(cuIpcOpenMemHandle_v2);
  const CuResult status = real(pointer, handle, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kImport, CudaAttributes(Space::kDevicePointer, Kind::kDevice, "shared"),
                {.values = {*pointer, 0}, .count = 2, .with_stack = true});
  }
  return status;
}

CuResult cuIpcCloseMemHandle(CuPointer pointer) {
  MEMTOOL_CUDA_REAL(cuIpcCloseMemHandle);
  return RecordedFree(wanted, FreeAttributes(Space::kDevicePointer), pointer,
                      [&] { return real(pointer); });
}

CuResult cuMemPoolCreate(CuObject* pool, const CuPoolProps* props) {
  MEMTOOL_CUDA_REAL(cuMemPoolCreate);
  const CuResult status = real(pool, props);
  if (wanted && status == 0 && props != nullptr) {
    RecordPoolAt(*pool, props->location, props->type, false);
  }
  return status;
}

CuResult cuMemGetDefaultMemPool(CuObject* pool, CuLocation* location, int type) {
  MEMTOOL_CUDA_REAL(cuMemGetDefaultMemPool);
  const CuResult status = real(pool, location, type);
  PoolHandedOut(wanted, status, pool, location, type);
  return status;
}

CuResult cuMemGetMemPool(CuObject* pool, CuLocation* location, int type) {
  MEMTOOL_CUDA_REAL(cuMemGetMemPool);
  const CuResult status = real(pool, location, type);
  PoolHandedOut(wanted, status, pool, location, type);
  return status;
}

CuResult cuMemPoolDestroy(CuObject pool) {
  MEMTOOL_CUDA_REAL(cuMemPoolDestroy);
  const CuResult status = real(pool);
  if (wanted && status == 0) {
    RecordPool(pool, PoolOp::kDestroy, -1, 0);
  }
  return status;
}

CuResult cuMemPoolTrimTo(CuObject pool, std::size_t keep) {
  MEMTOOL_CUDA_REAL(cuMemPoolTrimTo);
  const CuResult status = real(pool, keep);
  if (wanted && status == 0) {
    RecordPool(pool, PoolOp::kTrim, -1, keep);
  }
  return status;
}

CuResult cuCtxDestroy_v2(CuObject context) {
  MEMTOOL_CUDA_REAL(cuCtxDestroy_v2);
  return RecordedContextEnd(wanted, Address(context), -1, [&] { return real(context); });
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  MEMTOOL_CUDA_REAL(cuDevicePrimaryCtxRelease_v2);
  CuObject context = wanted ? CudaPrimaryContext(device) : nullptr;
  const CuResult status = real(device);
  // Only now is it known whether that was the last reference.
  if (wanted && status == 0 && context != nullptr && !CudaPrimaryIsActive(device)) {
    RecordContextEnd(Address(context), device);
  }
  return status;
}

CuResult cuDevicePrimaryCtxReset_v2(CuDevice device) {
  MEMTOOL_CUDA_REAL(cuDevicePrimaryCtxReset_v2);
  CuObject context = wanted ? CudaPrimaryContext(device) : nullptr;
  return RecordedContextEnd(wanted, Address(context), device, [&] { return real(device); });
}

}  // extern "C"
