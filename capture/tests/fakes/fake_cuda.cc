// The project's own libcuda.so.1, without a device. Linked with -Bsymbolic, as the real one
// behaves. What it keeps: fake_books.h; cuGetProcAddress: fake_cuda_resolver.cc.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <map>

#include "fakes/fake_books.h"
#include "fakes/fake_graphs.h"
#include "fakes/fake_trace.h"

using namespace fake;  // NOLINT(google-build-using-namespace)

namespace {

// Like the real driver: the first cuInit loads the library that the environment names.
void Inject() {
  static const bool once = [] {
    const char* path = getenv("CUDA_INJECTION64_PATH");
    void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
    if (library != nullptr) {
      const auto start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
      return start != nullptr && start() != 0;
    }
    return false;
  }();
  (void)once;
}

// A location's type: 1 is a device, up to 4 the host, beyond it a part of a device, whose number
// has the device in its low byte.
int DeviceIn(const int* location) {
  return location[0] == 1 ? location[1] : location[0] > 4 ? location[1] & 0xff : -1;
}

struct Pool {
  bool managed;
  bool anywhere;  // without a preferred location
  int device;
};

Pool MakePool(int type, const int* location) {
  return {type == 2, location[0] == 0, DeviceIn(location)};
}

// A location has one for each type of memory; only managed memory needs no location.
int DefaultPool(void** pool, const int* location, int type) {
  static std::map<std::array<int, 3>, Pool> pools;
  if (location == nullptr || type < 1 || type > 2 || location[0] < 0 || location[0] > 3 ||
      (location[0] == 0 && type != 2) || (location[0] == 1 && location[1] >= kDevices)) {
    return kInvalid;
  }
  const std::scoped_lock lock(B().mutex);
  *pool =
      &pools.emplace(std::array<int, 3>{type, location[0], location[1]}, MakePool(type, location))
           .first->second;
  return kOk;
}

}  // namespace

API void fakeObserve(Observer observer) {
  g_observer = observer;
}

API int cuInit(unsigned) {
  Inject();
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
  return Traced(
      322,
      [&]() -> int {
        EndContext(static_cast<Context*>(context));
        return kOk;
      },
      context);
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
  return Traced(
      545,
      [&]() -> int {
        if (B().primaries[device].context != nullptr) {
          EndContext(B().primaries[device].context);
          B().primaries[device] = {};
        }
        return kOk;
      },
      device);
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
  return Traced(
      544,
      [&]() -> int {
        if (B().primaries[device].refs == 0) {
          return kInvalid;
        }
        if (--B().primaries[device].refs == 0) {
          return cuDevicePrimaryCtxReset_v2(device);
        }
        return kOk;
      },
      device);
}
API int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  const std::scoped_lock lock(B().mutex);
  *total = B().capacity;
  *free_bytes = B().capacity - (t_context == nullptr ? 0 : B().used[t_context->device]);
  return kOk;
}

API int cuMemAlloc_v2(Pointer* pointer, std::size_t size) {
  return Traced(
      243, [&]() -> int { return AllocateHere(pointer, size, "device"); }, pointer, size);
}
API int cuMemAllocPitch_v2(Pointer* pointer, std::size_t* pitch, std::size_t width,
                           std::size_t height, unsigned unused4) {
  return Traced(
      244,
      [&]() -> int {
        *pitch = (width + 511) / 512 * 512;
        return AllocateHere(pointer, *pitch * height, "device");
      },
      pointer, pitch, width, height, unused4);
}
API int cuMemAllocManaged(Pointer* pointer, std::size_t size, unsigned unused2) {
  return Traced(
      371, [&]() -> int { return AllocateHere(pointer, size, "managed"); }, pointer, size, unused2);
}
API int cuMemFree_v2(Pointer pointer) {
  return Traced(
      245, [&]() -> int { return Release(pointer); }, pointer);
}

API int cuMemAllocAsync(Pointer* pointer, std::size_t size, void* stream) {
  return Traced(
      598,
      [&]() -> int {
        return NodeOfCapture(stream, size, pointer) ? static_cast<int>(kOk)
                                                    : AllocateHere(pointer, size, "async", false);
      },
      pointer, size, stream);
}
API int cuMemAllocAsync_ptsz(Pointer* pointer, std::size_t size, void* stream) {
  return Traced(
      599, [&]() -> int { return cuMemAllocAsync(pointer, size, stream); }, pointer, size, stream);
}
API int cuMemAllocFromPoolAsync(Pointer* pointer, std::size_t size, void* pool, void* stream) {
  return Traced(
      611,
      [&]() -> int {
        if (NodeOfCapture(stream, size, pointer)) {
          return kOk;
        }
        const auto* from = static_cast<const Pool*>(pool);
        const int device = from->anywhere ? t_context->device : from->device;
        return Allocate(pointer, size, from->managed ? "managed" : "async", nullptr, device);
      },
      pointer, size, pool, stream);
}
API int cuMemAllocFromPoolAsync_ptsz(Pointer* pointer, std::size_t size, void* pool, void* stream) {
  return Traced(
      612, [&]() -> int { return cuMemAllocFromPoolAsync(pointer, size, pool, stream); }, pointer,
      size, pool, stream);
}
API int cuMemFreeAsync(Pointer pointer, void* stream) {
  return Traced(
      600,
      [&]() -> int {
        return FreedInGraph(stream, pointer) ? static_cast<int>(kOk) : Release(pointer);
      },
      pointer, stream);
}
API int cuMemFreeAsync_ptsz(Pointer pointer, void* stream) {
  return Traced(
      601, [&]() -> int { return cuMemFreeAsync(pointer, stream); }, pointer, stream);
}
API int cuMemPoolCreate(void** pool, const int* props) {
  return Traced(
      607,
      [&]() -> int {
        *pool = new Pool(MakePool(props[0], props + 2));
        return kOk;
      },
      pool, props);
}
// The handle is soon another pool's.
API int cuMemPoolDestroy(void* pool) {
  return Traced(
      608,
      [&]() -> int {
        delete static_cast<Pool*>(pool);
        return kOk;
      },
      pool);
}
API int cuMemGetDefaultMemPool(void** pool, const int* location, int type) {
  return Traced(
      801, [&]() -> int { return DefaultPool(pool, location, type); }, pool, location, type);
}
API int cuMemGetMemPool(void** pool, const int* location, int type) {
  return Traced(
      802, [&]() -> int { return DefaultPool(pool, location, type); }, pool, location, type);
}
API int cuMemPoolTrimTo(void* unused0, std::size_t unused1) {
  return Traced(
      602, [&]() -> int { return kOk; }, unused0, unused1);
}

API int cuMemCreate(Pointer* handle, std::size_t size, const int* prop,
                    unsigned long long unused3) {
  return Traced(
      549, [&]() -> int { return fake::CreateHandle(handle, size, DeviceIn(prop + 2)); }, handle,
      size, prop, unused3);
}
API int cuMemRelease(Pointer handle) {
  return Traced(
      550, [&]() -> int { return fake::ReleaseHandle(handle); }, handle);
}
API int cuMemMap(Pointer address, std::size_t unused1, std::size_t unused2, Pointer handle,
                 unsigned long long unused4) {
  return Traced(
      551, [&]() -> int { return fake::Map(address, handle); }, address, unused1, unused2, handle,
      unused4);
}
API int cuMemUnmap(Pointer address, std::size_t size) {
  return Traced(
      552, [&]() -> int { return fake::Unmap(address, size); }, address, size);
}
API int cuMemAddressReserve(Pointer* address, std::size_t size, std::size_t unused2,
                            Pointer unused3, unsigned long long unused4) {
  return Traced(
      547,
      [&]() -> int {
        *address = fake::Reserve(size);
        return kOk;
      },
      address, size, unused2, unused3, unused4);
}
API int cuMemAddressFree(Pointer unused0, std::size_t unused1) {
  return Traced(
      548, [&]() -> int { return kOk; }, unused0, unused1);
}
API int cuMemRetainAllocationHandle(Pointer* handle, void* address) {
  return Traced(
      565, [&]() -> int { return fake::RetainHandle(handle, reinterpret_cast<Pointer>(address)); },
      handle, address);
}
API int cuMemImportFromShareableHandle(Pointer* handle, void* unused1, int unused2) {
  return Traced(
      555,
      [&]() -> int {
        *handle = 0xabcd00;
        return kOk;
      },
      handle, unused1, unused2);
}
struct IpcHandle {
  char bytes[64];
};
API int cuIpcOpenMemHandle_v2(Pointer* pointer, IpcHandle handle, unsigned unused2) {
  return Traced(
      567,
      [&]() -> int {
        *pointer = 0x600000000000 + static_cast<unsigned char>(handle.bytes[63]) * 0x1000;
        return kOk;
      },
      pointer, handle, unused2);
}
API int cuIpcCloseMemHandle(Pointer unused0) {
  return Traced(
      330, [&]() -> int { return kOk; }, unused0);
}

API int cuMemHostAlloc(void** pointer, std::size_t size, unsigned unused2) {
  return Traced(
      39,
      [&]() -> int {
        *pointer = malloc(size);
        return EnterHost(*pointer, size, "pinned");
      },
      pointer, size, unused2);
}
API int cuMemAllocHost_v2(void** pointer, std::size_t size) {
  return Traced(
      294, [&]() -> int { return cuMemHostAlloc(pointer, size, 0); }, pointer, size);
}
API int cuMemFreeHost(void* pointer) {
  return Traced(
      38,
      [&]() -> int {
        const int status = Release(reinterpret_cast<Pointer>(pointer));
        if (status == kOk) {
          free(pointer);
        }
        return status;
      },
      pointer);
}
API int cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned unused2) {
  return Traced(
      379, [&]() -> int { return EnterHost(pointer, size, "registered"); }, pointer, size, unused2);
}
API int cuMemHostUnregister(void* pointer) {
  return Traced(
      302, [&]() -> int { return Release(reinterpret_cast<Pointer>(pointer)); }, pointer);
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
  return Traced(
      272,
      [&]() -> int {
        return AllocateHere(array, d->width * (d->height == 0 ? 1 : d->height) * 4 * d->channels,
                            "array");
      },
      array, d);
}
API int cuArray3DCreate_v2(Pointer* array, const Array3d* d) {
  return Traced(
      274,
      [&]() -> int {
        return AllocateHere(array, d->width * d->height * d->depth * 4 * d->channels, "array");
      },
      array, d);
}
API int cuArrayDestroy(Pointer array) {
  return Traced(
      89, [&]() -> int { return Release(array); }, array);
}
API int cuMipmappedArrayCreate(Pointer* array, const Array3d* d, unsigned levels) {
  return Traced(
      347,
      [&]() -> int {
        std::uint64_t bytes = 0;
        Array3d level = *d;
        for (unsigned i = 0; i < levels; ++i) {
          bytes += level.width * level.height * 4 * level.channels;
          level.width /= 2;
          level.height /= 2;
        }
        return AllocateHere(array, bytes, "mipmapped array");
      },
      array, d, levels);
}
API int cuMipmappedArrayDestroy(Pointer array) {
  return Traced(
      349, [&]() -> int { return Release(array); }, array);
}
