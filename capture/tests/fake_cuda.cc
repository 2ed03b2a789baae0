// A libcuda.so.1 of the project's own, without a device. Linked with -Bsymbolic, as the real one
// behaves. What it keeps: fake_books.h; cuGetProcAddress: fake_cuda_resolver.cc.
#include <cstdlib>

#include "fake_books.h"

using namespace fake;  // NOLINT(google-build-using-namespace)

API int cuInit(unsigned) {
  return kOk;
}
API int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kOk;
}
API int cuDeviceGetCount(int* count) {
  *count = kDevices;
  return kOk;
}
API int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < kDevices ? kOk : kInvalid;
}
API int cuCtxCreate_v2(void** context, unsigned, int device) {
  t_context = new Context{device, false};
  *context = t_context;
  return kOk;
}
API int cuCtxSetCurrent(void* context) {
  t_context = static_cast<Context*>(context);
  return kOk;
}
API int cuCtxGetCurrent(void** context) {
  *context = t_context;
  return kOk;
}
API int cuCtxGetDevice(int* device) {
  if (t_context == nullptr) {
    return kNoContext;
  }
  *device = t_context->device;
  return kOk;
}
API int cuCtxDestroy_v2(void* context) {
  EndContext(static_cast<Context*>(context));
  return kOk;
}
API int cuDevicePrimaryCtxRetain(void** context, int device) {
  Primary& primary = B().primaries[device];
  if (primary.context == nullptr) {
    primary.context = new Context{device, true};
  }
  ++primary.refs;
  *context = primary.context;
  return kOk;
}
API int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = B().primaries[device].refs > 0 ? 1 : 0;
  return kOk;
}
API int cuDevicePrimaryCtxReset_v2(int device) {
  if (B().primaries[device].context != nullptr) {
    EndContext(B().primaries[device].context);
    B().primaries[device] = {};
  }
  return kOk;
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
  if (B().primaries[device].refs == 0) {
    return kInvalid;
  }
  if (--B().primaries[device].refs == 0) {
    return cuDevicePrimaryCtxReset_v2(device);
  }
  return kOk;
}
API int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  const std::scoped_lock lock(B().mutex);
  *total = B().capacity;
  *free_bytes = B().capacity - (t_context == nullptr ? 0 : B().used[t_context->device]);
  return kOk;
}

API int cuMemAlloc_v2(Pointer* pointer, std::size_t size) {
  return AllocateHere(pointer, size, "device");
}
API int cuMemAllocPitch_v2(Pointer* pointer, std::size_t* pitch, std::size_t width,
                           std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return AllocateHere(pointer, *pitch * height, "device");
}
API int cuMemAllocManaged(Pointer* pointer, std::size_t size, unsigned) {
  return AllocateHere(pointer, size, "managed");
}
API int cuMemFree_v2(Pointer pointer) {
  return Release(pointer);
}

API int cuMemAllocAsync(Pointer* pointer, std::size_t size, void*) {
  return AllocateHere(pointer, size, "async", false);
}
API int cuMemAllocAsync_ptsz(Pointer* pointer, std::size_t size, void* stream) {
  return cuMemAllocAsync(pointer, size, stream);
}
API int cuMemAllocFromPoolAsync(Pointer* pointer, std::size_t size, void* pool, void*) {
  return Allocate(pointer, size, "async", nullptr, static_cast<Context*>(pool)->device);
}
API int cuMemAllocFromPoolAsync_ptsz(Pointer* pointer, std::size_t size, void* pool, void* stream) {
  return cuMemAllocFromPoolAsync(pointer, size, pool, stream);
}
API int cuMemFreeAsync(Pointer pointer, void*) {
  return Release(pointer);
}
API int cuMemFreeAsync_ptsz(Pointer pointer, void*) {
  return Release(pointer);
}
API int cuMemPoolCreate(void** pool, const int* props) {
  *pool = new Context{props[3], false};
  return kOk;
}
API int cuMemPoolDestroy(void*) {
  return kOk;
}
API int cuMemPoolTrimTo(void*, std::size_t) {
  return kOk;
}

API int cuMemCreate(Pointer* handle, std::size_t size, const int* prop, unsigned long long) {
  return fake::CreateHandle(handle, size, prop[2] == 1 ? prop[3] : -1);
}
API int cuMemRelease(Pointer handle) {
  return fake::ReleaseHandle(handle);
}
API int cuMemMap(Pointer address, std::size_t, std::size_t, Pointer handle, unsigned long long) {
  return fake::Map(address, handle);
}
API int cuMemUnmap(Pointer address, std::size_t size) {
  return fake::Unmap(address, size);
}
API int cuMemAddressReserve(Pointer* address, std::size_t size, std::size_t, Pointer,
                            unsigned long long) {
  *address = fake::Reserve(size);
  return kOk;
}
API int cuMemAddressFree(Pointer, std::size_t) {
  return kOk;
}
API int cuMemRetainAllocationHandle(Pointer* handle, void* address) {
  return fake::RetainHandle(handle, reinterpret_cast<Pointer>(address));
}
API int cuMemImportFromShareableHandle(Pointer* handle, void*, int) {
  *handle = 0xabcd00;
  return kOk;
}
struct IpcHandle {
  char bytes[64];
};
API int cuIpcOpenMemHandle_v2(Pointer* pointer, IpcHandle handle, unsigned) {
  *pointer = 0x600000000000 + static_cast<unsigned char>(handle.bytes[63]) * 0x1000;
  return kOk;
}
API int cuIpcCloseMemHandle(Pointer) {
  return kOk;
}

API int cuMemHostAlloc(void** pointer, std::size_t size, unsigned) {
  *pointer = malloc(size);
  return EnterHost(*pointer, size, "pinned");
}
API int cuMemAllocHost_v2(void** pointer, std::size_t size) {
  return cuMemHostAlloc(pointer, size, 0);
}
API int cuMemFreeHost(void* pointer) {
  const int status = Release(reinterpret_cast<Pointer>(pointer));
  if (status == kOk) {
    free(pointer);
  }
  return status;
}
API int cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned) {
  return EnterHost(pointer, size, "registered");
}
API int cuMemHostUnregister(void* pointer) {
  return Release(reinterpret_cast<Pointer>(pointer));
}

struct ArrayDescriptor {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct Array3d {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};
// Formats of the tests: 0x20 is float.
API int cuArrayCreate_v2(Pointer* array, const ArrayDescriptor* d) {
  return AllocateHere(array, d->width * (d->height == 0 ? 1 : d->height) * 4 * d->channels,
                      "array");
}
API int cuArray3DCreate_v2(Pointer* array, const Array3d* d) {
  return AllocateHere(array, d->width * d->height * d->depth * 4 * d->channels, "array");
}
API int cuArrayDestroy(Pointer array) {
  return Release(array);
}
API int cuMipmappedArrayCreate(Pointer* array, const Array3d* d, unsigned levels) {
  std::uint64_t bytes = 0;
  Array3d level = *d;
  for (unsigned i = 0; i < levels; ++i) {
    bytes += level.width * level.height * 4 * level.channels;
    level.width /= 2;
    level.height /= 2;
  }
  return AllocateHere(array, bytes, "mipmapped array");
}
API int cuMipmappedArrayDestroy(Pointer array) {
  return Release(array);
}
