// The project's own libamdhip64.so.6, without a device; its symbols are versioned, like those of
// the real one. What it keeps: fake_books.h.
#include <cstdlib>
#include <cstring>

#include "fakes/fake_books.h"
#include "fakes/hip_functions.h"

using namespace fake;  // NOLINT(google-build-using-namespace)

namespace {

Context g_contexts[kDevices] = {{0, true}, {1, true}};
thread_local int t_device = 0;

Pointer Number(const void* pointer) {
  return reinterpret_cast<Pointer>(pointer);
}

int Here(void** pointer, std::uint64_t size, const char* kind, bool of_context = true) {
  Pointer made = 0;
  const int status =
      Allocate(&made, size, kind, of_context ? &g_contexts[t_device] : nullptr, t_device);
  *pointer = reinterpret_cast<void*>(made);
  return status;
}

std::size_t Pitch(std::size_t width) {
  return (width + 255) / 256 * 256;
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

std::size_t Bytes(const int* channels) {
  return static_cast<std::size_t>(channels[0] + channels[1] + channels[2] + channels[3]) / 8;
}

}  // namespace

int hipSetDevice(int device) {
  t_device = device;
  return device < kDevices ? kOk : kInvalid;
}
API int hipGetDevice(int* device) {
  *device = t_device;
  return kOk;
}
API int hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const std::scoped_lock lock(B().mutex);
  *total = B().capacity;
  *free_bytes = B().capacity - B().used[t_device];
  return kOk;
}
// Like the real one: no memory, and no error.
int hipMalloc(void** pointer, std::size_t size) {
  *pointer = nullptr;
  return size == 0 ? static_cast<int>(kOk) : Here(pointer, size, "device");
}
int hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned) {
  return hipMalloc(pointer, size);
}
int hipMallocManaged(void** pointer, std::size_t size, unsigned) {
  return Here(pointer, size, "managed");
}
int hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  *pitch = Pitch(width);
  return Here(pointer, *pitch * height, "device");
}
int hipMemAllocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                     unsigned) {
  return hipMallocPitch(pointer, pitch, width, height);
}
int hipMalloc3D(HipPitchedPointer* pitched, HipExtent extent) {
  pitched->pitch = Pitch(extent.width);
  return Here(&pitched->pointer, pitched->pitch * extent.height * extent.depth, "device");
}
int hipFree(void* pointer) {
  return Release(Number(pointer));
}
// The handle that the tests use for a stream that is being captured: its nodes are not counted.
void* const kCaptured = reinterpret_cast<void*>(0xca97);
API int hipStreamIsCapturing(void* stream, int* state) {
  *state = stream == kCaptured ? 1 : 0;
  return kOk;
}
int hipMallocAsync(void** pointer, std::size_t size, void* stream) {
  if (stream == kCaptured) {
    *pointer = reinterpret_cast<void*>(Reserve(size));
    return kOk;
  }
  return Here(pointer, size, "async", false);
}
int hipMallocFromPoolAsync(void** pointer, std::size_t size, void*, void*) {
  return Here(pointer, size, "async", false);
}
int hipFreeAsync(void* pointer, void* stream) {
  return stream == kCaptured ? static_cast<int>(kOk) : Release(Number(pointer));
}
int hipMemPoolCreate(void** pool, const int* props) {
  *pool = new Context{props[3], false};
  return kOk;
}
int hipMemPoolDestroy(void* pool) {
  delete static_cast<Context*>(pool);
  return kOk;
}
int hipMemPoolTrimTo(void*, std::size_t) {
  return kOk;
}

int hipMemCreate(void** handle, std::size_t size, const int* props, unsigned long long) {
  Pointer made = 0;
  const int status = CreateHandle(&made, size, props[2] == 1 ? props[3] : -1);
  *handle = reinterpret_cast<void*>(made);
  return status;
}
int hipMemRelease(void* handle) {
  return ReleaseHandle(Number(handle));
}
int hipMemMap(void* address, std::size_t, std::size_t, void* handle, unsigned long long) {
  return Map(Number(address), Number(handle));
}
int hipMemUnmap(void* address, std::size_t size) {
  return Unmap(Number(address), size);
}
int hipMemAddressReserve(void** address, std::size_t size, std::size_t, void*, unsigned long long) {
  *address = reinterpret_cast<void*>(Reserve(size));
  return kOk;
}
int hipMemAddressFree(void*, std::size_t) {
  return kOk;
}
int hipMemRetainAllocationHandle(void** handle, void* address) {
  Pointer made = 0;
  const int status = RetainHandle(&made, Number(address));
  *handle = reinterpret_cast<void*>(made);
  return status;
}
int hipMemImportFromShareableHandle(void** handle, void*, int) {
  *handle = reinterpret_cast<void*>(0xabcd00);
  return kOk;
}
int hipIpcOpenMemHandle(void** pointer, HipIpc, unsigned) {
  *pointer = reinterpret_cast<void*>(0x600000000000);
  return kOk;
}
int hipIpcCloseMemHandle(void*) {
  return kOk;
}

int hipHostMalloc(void** pointer, std::size_t size, unsigned) {
  *pointer = malloc(size);
  return EnterHost(*pointer, size, "pinned");
}
int hipHostAlloc(void** pointer, std::size_t size, unsigned) {
  return hipHostMalloc(pointer, size, 0);
}
int hipMallocHost(void** pointer, std::size_t size) {
  return hipHostMalloc(pointer, size, 0);
}
int hipMemAllocHost(void** pointer, std::size_t size) {
  return hipHostMalloc(pointer, size, 0);
}
int hipHostFree(void* pointer) {
  const int status = Release(Number(pointer));
  if (status == kOk) {
    free(pointer);
  }
  return status;
}
int hipFreeHost(void* pointer) {
  return hipHostFree(pointer);
}
int hipHostRegister(void* pointer, std::size_t size, unsigned) {
  return EnterHost(pointer, size, "registered");
}
int hipHostUnregister(void* pointer) {
  return Release(Number(pointer));
}

int hipMallocArray(void** array, const int* channels, std::size_t width, std::size_t height,
                   unsigned) {
  return Here(array, width * (height == 0 ? 1 : height) * Bytes(channels), "array");
}
int hipMalloc3DArray(void** array, const int* channels, HipExtent extent, unsigned) {
  return Here(array, extent.width * extent.height * extent.depth * Bytes(channels), "array");
}
// Formats of the tests: 0x20 is float.
int hipArrayCreate(void** array, const void* descriptor) {
  const auto* d = static_cast<const ArrayDescriptor*>(descriptor);
  return Here(array, d->width * d->height * 4 * d->channels, "array");
}
int hipArray3DCreate(void** array, const void* descriptor) {
  const auto* d = static_cast<const Array3d*>(descriptor);
  return Here(array, d->width * d->height * d->depth * 4 * d->channels, "array");
}
int hipFreeArray(void* array) {
  return Release(Number(array));
}
int hipArrayDestroy(void* array) {
  return Release(Number(array));
}

int hipDevicePrimaryCtxReset(int device) {
  EndContext(&g_contexts[device]);
  return kOk;
}
int hipDeviceReset() {
  return hipDevicePrimaryCtxReset(t_device);
}

int hipGetProcAddress(const char* symbol, void** pointer, int, std::uint64_t, void*) {
#define ANSWER(name, arguments)                \
  if (strcmp(symbol, #name) == 0) {            \
    *pointer = reinterpret_cast<void*>(&name); \
    return kOk;                                \
  }
  HIP_FUNCTIONS(ANSWER)
#undef ANSWER
  *pointer = nullptr;
  return kNotFound;
}
