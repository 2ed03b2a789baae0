// Wrappers of the virtual memory functions, of pools, memory from other processes, arrays and
// device resets.
#include "hip/call.h"
#include "hip/wrappers.h"
#include "providers/wrapping.h"

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::Kind;
using memtool::wire::PoolOp;
using memtool::wire::Space;
using memtool::wire::Tag;

constexpr int kOnDevice = 1;  // hipMemLocationTypeDevice

std::int32_t GetDevice(const HipLocation& location) {
  return location.type == kOnDevice ? location.id : -1;
}

void ArrayMade(bool wanted, HipStatus status, const HipObject* array, std::uint64_t size) {
  if (wanted) {
    HipAllocated(HipAttributes(Space::kArray, Kind::kDevice, "array"), status,
                 status == 0 ? *array : nullptr, size, true);
  }
}

std::uint64_t ElementBytes(const HipChannels* channels) {
  const int bits = channels == nullptr ? 0 : channels->x + channels->y + channels->z + channels->w;
  return bits <= 0 ? 0 : static_cast<std::uint64_t>(bits) / 8;
}

HipStatus FreeArray(bool wanted, HipObject array, HipStatus (*real)(HipObject)) {
  return RecordedFree(wanted, FreeAttributes(Space::kArray), Address(array),
                      [&] { return real(array); });
}

}  // namespace

extern "C" {

HipStatus hipMemCreate(HipHandle* handle, std::size_t size, const HipProps* props,
                       unsigned long long flags) {
  MEMTOOL_HIP_REAL(hipMemCreate);
  const HipStatus status = real(handle, size, props, flags);
  if (wanted && props != nullptr) {
    Attributes attributes = HandleAttributes();
    attributes.device = GetDevice(props->location);
    HipAllocated(attributes, status, status == 0 ? *handle : nullptr, size);
  }
  return status;
}

HipStatus hipMemRelease(HipHandle handle) {
  MEMTOOL_HIP_REAL(hipMemRelease);
  // Before the call, as frees are: the runtime may reuse the handle at once.
  if (wanted) {
    RecordPlain(Tag::kRelease, HandleAttributes(), {.values = {Address(handle)}, .count = 1});
  }
  const HipStatus status = real(handle);
  if (wanted && status != 0) {
    RecordFreeFailed(HandleAttributes(), Address(handle), static_cast<std::uint64_t>(status));
  }
  return status;
}

HipStatus hipMemRetainAllocationHandle(HipHandle* handle, void* address) {
  MEMTOOL_HIP_REAL(hipMemRetainAllocationHandle);
  const HipStatus status = real(handle, address);
  if (wanted && status == 0) {
    RecordPlain(Tag::kRetain, HandleAttributes(), {.values = {Address(*handle)}, .count = 1});
  }
  return status;
}

HipStatus hipMemMap(void* pointer, std::size_t size, std::size_t offset, HipHandle handle,
                    unsigned long long flags) {
  MEMTOOL_HIP_REAL(hipMemMap);
  const HipStatus status = real(pointer, size, offset, handle, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kMap, HandleAttributes(),
                {.values = {Address(handle), Address(pointer), size, offset}, .count = 4});
  }
  return status;
}

HipStatus hipMemUnmap(void* pointer, std::size_t size) {
  MEMTOOL_HIP_REAL(hipMemUnmap);
  if (wanted) {
    RecordPlain(Tag::kUnmap, AddressAttributes(), {.values = {Address(pointer), size}, .count = 2});
  }
  const HipStatus status = real(pointer, size);
  if (wanted && status != 0) {
    RecordFreeFailed(AddressAttributes(), Address(pointer), static_cast<std::uint64_t>(status));
  }
  return status;
}

HipStatus hipMemAddressReserve(void** pointer, std::size_t size, std::size_t alignment, void* wish,
                               unsigned long long flags) {
  MEMTOOL_HIP_REAL(hipMemAddressReserve);
  const HipStatus status = real(pointer, size, alignment, wish, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kReserve, AddressAttributes(),
                {.values = {Address(*pointer), size}, .count = 2, .with_stack = true});
  }
  return status;
}

HipStatus hipMemAddressFree(void* pointer, std::size_t size) {
  MEMTOOL_HIP_REAL(hipMemAddressFree);
  return RecordedUnreserve(wanted, Address(pointer), size, [&] { return real(pointer, size); });
}

HipStatus hipMemImportFromShareableHandle(HipHandle* handle, void* shared, int type) {
  MEMTOOL_HIP_REAL(hipMemImportFromShareableHandle);
  const HipStatus status = real(handle, shared, type);
  if (wanted && status == 0) {
    RecordPlain(Tag::kImport, HandleAttributes(),
                {.values = {Address(*handle), 0}, .count = 2, .with_stack = true});
  }
  return status;
}

HipStatus hipIpcOpenMemHandle(void** pointer, HipIpcHandle handle, unsigned flags) {
  MEMTOOL_HIP_REAL(hipIpcOpenMemHandle);
  const HipStatus status = real(pointer, handle, flags);
  if (wanted && status == 0) {
    RecordPlain(Tag::kImport, HipAttributes(Space::kDevicePointer, Kind::kDevice, "shared"),
                {.values = {Address(*pointer), 0}, .count = 2, .with_stack = true});
  }
  return status;
}

HipStatus hipIpcCloseMemHandle(void* pointer) {
  MEMTOOL_HIP_REAL(hipIpcCloseMemHandle);
  return RecordedFree(wanted, FreeAttributes(Space::kDevicePointer), Address(pointer),
                      [&] { return real(pointer); });
}

HipStatus hipMemPoolCreate(HipObject* pool, const HipProps* props) {
  MEMTOOL_HIP_REAL(hipMemPoolCreate);
  const HipStatus status = real(pool, props);
  if (wanted && status == 0 && props != nullptr) {
    RecordPool(*pool, PoolOp::kCreate, GetDevice(props->location), 0);
  }
  return status;
}

HipStatus hipMemPoolDestroy(HipObject pool) {
  MEMTOOL_HIP_REAL(hipMemPoolDestroy);
  const HipStatus status = real(pool);
  if (wanted && status == 0) {
    RecordPool(pool, PoolOp::kDestroy, -1, 0);
  }
  return status;
}

HipStatus hipMemPoolTrimTo(HipObject pool, std::size_t keep) {
  MEMTOOL_HIP_REAL(hipMemPoolTrimTo);
  const HipStatus status = real(pool, keep);
  if (wanted && status == 0) {
    RecordPool(pool, PoolOp::kTrim, -1, keep);
  }
  return status;
}

HipStatus hipMallocArray(HipObject* array, const HipChannels* channels, std::size_t width,
                         std::size_t height, unsigned flags) {
  MEMTOOL_HIP_REAL(hipMallocArray);
  const HipStatus status = real(array, channels, width, height, flags);
  ArrayMade(wanted, status, array, ArrayBytes({width, height, 1}, ElementBytes(channels)));
  return status;
}

HipStatus hipMalloc3DArray(HipObject* array, const HipChannels* channels, Extent extent,
                           unsigned flags) {
  MEMTOOL_HIP_REAL(hipMalloc3DArray);
  const HipStatus status = real(array, channels, extent, flags);
  ArrayMade(wanted, status, array, ArrayBytes(extent, ElementBytes(channels)));
  return status;
}

HipStatus hipArrayCreate(HipObject* array, const HipArrayDescriptor* descriptor) {
  MEMTOOL_HIP_REAL(hipArrayCreate);
  const HipStatus status = real(array, descriptor);
  if (descriptor != nullptr) {
    ArrayMade(wanted, status, array,
              ArrayBytes({descriptor->width, descriptor->height, 1},
                         FormatBytes(descriptor->format) * descriptor->channels));
  }
  return status;
}

HipStatus hipArray3DCreate(HipObject* array, const HipArray3dDescriptor* descriptor) {
  MEMTOOL_HIP_REAL(hipArray3DCreate);
  const HipStatus status = real(array, descriptor);
  if (descriptor != nullptr) {
    ArrayMade(wanted, status, array,
              ArrayBytes({descriptor->width, descriptor->height, descriptor->depth},
                         FormatBytes(descriptor->format) * descriptor->channels));
  }
  return status;
}

HipStatus hipFreeArray(HipObject array) {
  MEMTOOL_HIP_REAL(hipFreeArray);
  return FreeArray(wanted, array, real);
}

HipStatus hipArrayDestroy(HipObject array) {
  MEMTOOL_HIP_REAL(hipArrayDestroy);
  return FreeArray(wanted, array, real);
}

HipStatus hipDeviceReset() {
  MEMTOOL_HIP_REAL(hipDeviceReset);
  const Attributes attributes = HipAttributes(Space::kDevicePointer, Kind::kDevice, "context");
  return RecordedContextEnd(wanted, attributes.context, attributes.device, [&] { return real(); });
}

HipStatus hipDevicePrimaryCtxReset(int device) {
  MEMTOOL_HIP_REAL(hipDevicePrimaryCtxReset);
  return RecordedContextEnd(wanted && device >= 0, static_cast<std::uint64_t>(device) + 1, device,
                            [&] { return real(device); });
}

}  // extern "C"
