// A libcuda.so.1 of the project's own, without a device: addresses are numbers, and exact books are
// kept of everything that was asked for. Linked with -Bsymbolic, as the real one behaves.
//
// FAKE_CUDA_BOOKS=FILE   where the books are written at exit (and by fakeWriteBooks)
// FAKE_CUDA_CAPACITY=N   bytes of each device; more is out of memory
// FAKE_CUDA_FAIL_FREES=1 frees of device pointers report an error
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#define API extern "C" __attribute__((visibility("default")))

namespace {

using Pointer = unsigned long long;

enum Status { kOk = 0, kInvalid = 1, kOutOfMemory = 2, kNoContext = 201, kNotFound = 500 };

constexpr int kDevices = 2;
constexpr Pointer kDeviceBase = 0x700000000000;

struct Context {
  int device;
  bool primary;
};

struct Count {
  std::uint64_t allocs = 0;
  std::uint64_t frees = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;  // of all allocations
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
};

struct Block {
  std::uint64_t size;
  std::string book;
  int device;
  Context* context;  // null: of the device
  int refs = 1;      // handles
  int maps = 0;
  bool host = false;
};

struct Primary {
  Context* context = nullptr;
  int refs = 0;
};

struct Books {
  std::mutex mutex;
  std::unordered_map<Pointer, Block> blocks;       // device, managed, host pointers, arrays
  std::unordered_map<Pointer, Block> handles;      // cuMemCreate
  std::map<Pointer, Pointer> maps;                 // address -> handle
  std::map<std::string, Count> counts;             // "0 device", "host pinned", …
  std::multimap<std::uint64_t, Pointer> reusable;  // freed addresses by size
  std::uint64_t used[kDevices] = {};
  std::uint64_t device_peak[kDevices] = {};
  std::uint64_t capacity = UINT64_MAX;
  std::uint64_t unknown_frees = 0;
  Pointer next = kDeviceBase;
  Pointer next_handle = 0x100;
  Primary primaries[kDevices];
  bool fail_frees = false;
};

Books& B() {
  static Books* books = [] {
    auto* made = new Books;
    const char* capacity = getenv("FAKE_CUDA_CAPACITY");
    made->capacity = capacity == nullptr ? UINT64_MAX : strtoull(capacity, nullptr, 10);
    made->fail_frees = getenv("FAKE_CUDA_FAIL_FREES") != nullptr;
    return made;
  }();
  return *books;
}

thread_local Context* t_context = nullptr;

std::string BookName(int device, const char* kind) {
  return (device < 0 ? std::string("host") : std::to_string(device)) + " " + kind;
}

// With the lock held.
bool Room(int device, std::uint64_t size) {
  return device < 0 || (size <= B().capacity && B().used[device] <= B().capacity - size);
}

void Enter(const Block& block) {
  Count& count = B().counts[block.book];
  ++count.allocs;
  count.bytes += block.size;
  count.live += block.size;
  count.peak = count.live > count.peak ? count.live : count.peak;
  if (block.device >= 0) {
    std::uint64_t& used = B().used[block.device];
    used += block.size;
    std::uint64_t& peak = B().device_peak[block.device];
    peak = used > peak ? used : peak;
  }
}

void Leave(const Block& block) {
  Count& count = B().counts[block.book];
  ++count.frees;
  count.live -= block.size;
  if (block.device >= 0) {
    B().used[block.device] -= block.size;
  }
}

Pointer NewAddress(std::uint64_t size) {
  if (const auto old = B().reusable.find(size); old != B().reusable.end()) {
    const Pointer address = old->second;
    B().reusable.erase(old);
    return address;
  }
  const Pointer address = B().next;
  B().next += (size + 511) / 512 * 512 + 512;
  return address;
}

int Allocate(Pointer* out, std::uint64_t size, const char* kind, Context* context, int device) {
  const std::scoped_lock lock(B().mutex);
  const std::string book = BookName(device, kind);
  if (size == 0) {
    ++B().counts[book].failed;
    return kInvalid;
  }
  if (!Room(device, size)) {
    ++B().counts[book].failed;
    return kOutOfMemory;
  }
  const Block block{.size = size, .book = book, .device = device, .context = context};
  *out = NewAddress(size);
  B().blocks.emplace(*out, block);
  Enter(block);
  return kOk;
}

int AllocateHere(Pointer* out, std::uint64_t size, const char* kind, bool of_context = true) {
  return t_context == nullptr
             ? static_cast<int>(kNoContext)
             : Allocate(out, size, kind, of_context ? t_context : nullptr, t_context->device);
}

int Release(Pointer pointer) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().blocks.find(pointer);
  if (pointer == 0) {
    return kOk;
  }
  if (found == B().blocks.end() || B().fail_frees) {
    ++B().unknown_frees;
    return kInvalid;
  }
  if (!found->second.host) {
    B().reusable.emplace(found->second.size, pointer);
  }
  Leave(found->second);
  B().blocks.erase(found);
  return kOk;
}

int EnterHost(void* pointer, std::uint64_t size, const char* kind) {
  const std::scoped_lock lock(B().mutex);
  const Block block{
      .size = size, .book = BookName(-1, kind), .device = -1, .context = t_context, .host = true};
  B().blocks.emplace(reinterpret_cast<Pointer>(pointer), block);
  Enter(block);
  return kOk;
}

void EndContext(Context* context) {
  const std::scoped_lock lock(B().mutex);
  for (auto at = B().blocks.begin(); at != B().blocks.end();) {
    if (at->second.context == context) {
      Leave(at->second);
      at = B().blocks.erase(at);
    } else {
      ++at;
    }
  }
  t_context = t_context == context ? nullptr : t_context;
}

// A handle's memory goes when nothing refers to it and nothing maps it.
void DropIfUnused(std::unordered_map<Pointer, Block>::iterator handle) {
  if (handle->second.refs == 0 && handle->second.maps == 0) {
    Leave(handle->second);
    B().handles.erase(handle);
  }
}

void WriteBooks() {
  const char* path = getenv("FAKE_CUDA_BOOKS");
  if (path == nullptr) {
    return;
  }
  const std::string name = std::string(path) + "." + std::to_string(getpid());
  FILE* out = fopen(name.c_str(), "w");
  if (out == nullptr) {
    return;
  }
  const std::scoped_lock lock(B().mutex);
  fprintf(out, "{\"books\": {");
  const char* comma = "";
  for (const auto& [book, count] : B().counts) {
    fprintf(out,
            "%s\n \"%s\": {\"allocs\": %lu, \"frees\": %lu, \"failed\": %lu, \"bytes\": %lu, "
            "\"live\": %lu, \"peak\": %lu}",
            comma, book.c_str(), count.allocs, count.frees, count.failed, count.bytes, count.live,
            count.peak);
    comma = ",";
  }
  fprintf(out, "},\n \"device_peak\": [%lu, %lu], \"unknown_frees\": %lu}\n", B().device_peak[0],
          B().device_peak[1], B().unknown_frees);
  fclose(out);
}

// Static order: the books are written after main and before the objects above die (they never do).
struct AtExit {
  ~AtExit() { WriteBooks(); }
} g_at_exit;

}  // namespace

API void fakeWriteBooks() {
  WriteBooks();
}

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
  const std::scoped_lock lock(B().mutex);
  const int device = prop[2] == 1 ? prop[3] : -1;
  const Block block{
      .size = size, .book = BookName(device, "vmm"), .device = device, .context = nullptr};
  if (!Room(device, size)) {
    ++B().counts[block.book].failed;
    return kOutOfMemory;
  }
  *handle = B().next_handle++;
  B().handles.emplace(*handle, block);
  Enter(block);
  return kOk;
}
API int cuMemRelease(Pointer handle) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().handles.find(handle);
  if (found == B().handles.end() || found->second.refs == 0) {
    return kInvalid;
  }
  --found->second.refs;
  DropIfUnused(found);
  return kOk;
}
API int cuMemMap(Pointer address, std::size_t, std::size_t, Pointer handle, unsigned long long) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().handles.find(handle);
  if (found == B().handles.end() || !B().maps.emplace(address, handle).second) {
    return kInvalid;
  }
  ++found->second.maps;
  return kOk;
}
// Of a range: all that is mapped in it.
API int cuMemUnmap(Pointer address, std::size_t size) {
  const std::scoped_lock lock(B().mutex);
  auto at = B().maps.lower_bound(address);
  if (at == B().maps.end() || at->first >= address + size) {
    return kInvalid;
  }
  while (at != B().maps.end() && at->first < address + size) {
    const auto handle = B().handles.find(at->second);
    --handle->second.maps;
    DropIfUnused(handle);
    at = B().maps.erase(at);
  }
  return kOk;
}
API int cuMemAddressReserve(Pointer* address, std::size_t size, std::size_t, Pointer,
                            unsigned long long) {
  const std::scoped_lock lock(B().mutex);
  *address = B().next;
  B().next += size;
  return kOk;
}
API int cuMemAddressFree(Pointer, std::size_t) {
  return kOk;
}
API int cuMemRetainAllocationHandle(Pointer* handle, void* address) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().maps.find(reinterpret_cast<Pointer>(address));
  if (found == B().maps.end()) {
    return kInvalid;
  }
  *handle = found->second;
  ++B().handles.find(*handle)->second.refs;
  return kOk;
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

API int cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                            unsigned long long flags, void* found);
API int cuGetProcAddress(const char* symbol, void** pointer, int version,
                         unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, pointer, version, flags, nullptr);
}

namespace {

struct Function {
  const char* base;
  int version;
  bool per_thread;
  void* address;
};

#define ROW(base, version, name) \
  { base, version, false, reinterpret_cast<void*>(&name) }
#define ROW_PTSZ(base, version, name) \
  { base, version, true, reinterpret_cast<void*>(&name) }

const Function kFunctions[] = {
    ROW("cuInit", 2000, cuInit),
    ROW("cuDriverGetVersion", 2020, cuDriverGetVersion),
    ROW("cuDeviceGetCount", 2000, cuDeviceGetCount),
    ROW("cuDeviceGet", 2000, cuDeviceGet),
    ROW("cuCtxCreate", 3020, cuCtxCreate_v2),
    ROW("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
    ROW("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
    ROW("cuCtxGetDevice", 2000, cuCtxGetDevice),
    ROW("cuCtxDestroy", 4000, cuCtxDestroy_v2),
    ROW("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
    ROW("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2),
    ROW("cuDevicePrimaryCtxReset", 11000, cuDevicePrimaryCtxReset_v2),
    ROW("cuDevicePrimaryCtxGetState", 7000, cuDevicePrimaryCtxGetState),
    ROW("cuMemGetInfo", 3020, cuMemGetInfo_v2),
    ROW("cuMemAlloc", 3020, cuMemAlloc_v2),
    ROW("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
    ROW("cuMemAllocManaged", 6000, cuMemAllocManaged),
    ROW("cuMemFree", 3020, cuMemFree_v2),
    ROW("cuMemAllocAsync", 11020, cuMemAllocAsync),
    ROW_PTSZ("cuMemAllocAsync", 11020, cuMemAllocAsync_ptsz),
    ROW("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync),
    ROW_PTSZ("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync_ptsz),
    ROW("cuMemFreeAsync", 11020, cuMemFreeAsync),
    ROW_PTSZ("cuMemFreeAsync", 11020, cuMemFreeAsync_ptsz),
    ROW("cuMemPoolCreate", 11020, cuMemPoolCreate),
    ROW("cuMemPoolDestroy", 11020, cuMemPoolDestroy),
    ROW("cuMemPoolTrimTo", 11020, cuMemPoolTrimTo),
    ROW("cuMemCreate", 10020, cuMemCreate),
    ROW("cuMemRelease", 10020, cuMemRelease),
    ROW("cuMemMap", 10020, cuMemMap),
    ROW("cuMemUnmap", 10020, cuMemUnmap),
    ROW("cuMemAddressReserve", 10020, cuMemAddressReserve),
    ROW("cuMemAddressFree", 10020, cuMemAddressFree),
    ROW("cuMemRetainAllocationHandle", 11000, cuMemRetainAllocationHandle),
    ROW("cuMemImportFromShareableHandle", 10020, cuMemImportFromShareableHandle),
    ROW("cuIpcOpenMemHandle", 11000, cuIpcOpenMemHandle_v2),
    ROW("cuIpcCloseMemHandle", 4010, cuIpcCloseMemHandle),
    ROW("cuMemHostAlloc", 2020, cuMemHostAlloc),
    ROW("cuMemAllocHost", 3020, cuMemAllocHost_v2),
    ROW("cuMemFreeHost", 2000, cuMemFreeHost),
    ROW("cuMemHostRegister", 6050, cuMemHostRegister_v2),
    ROW("cuMemHostUnregister", 4000, cuMemHostUnregister),
    ROW("cuArrayCreate", 3020, cuArrayCreate_v2),
    ROW("cuArray3DCreate", 3020, cuArray3DCreate_v2),
    ROW("cuArrayDestroy", 2000, cuArrayDestroy),
    ROW("cuMipmappedArrayCreate", 5000, cuMipmappedArrayCreate),
    ROW("cuMipmappedArrayDestroy", 5000, cuMipmappedArrayDestroy),
    ROW("cuGetProcAddress", 11030, cuGetProcAddress),
    ROW("cuGetProcAddress", 12000, cuGetProcAddress_v2),
};

// FAKE_CUDA_QUERIES=FILE: what was asked for.
void LogQuery(const char* symbol, bool found) {
  const char* path = getenv("FAKE_CUDA_QUERIES");
  if (FILE* out = path == nullptr ? nullptr : fopen(path, "a"); out != nullptr) {
    fprintf(out, "%s %s\n", found ? "found" : "missing", symbol);
    fclose(out);
  }
}

}  // namespace

// By name, version and the per-thread flag (2); the empty name is not found, as in the real one.
API int cuGetProcAddress_v2(const char* symbol, void** pointer, int version,
                            unsigned long long flags, void* /*found*/) {
  const Function* best = nullptr;
  for (const Function& function : kFunctions) {
    if (strcmp(function.base, symbol) != 0 || function.version > version ||
        (function.per_thread && (flags & 2U) == 0)) {
      continue;
    }
    if (best == nullptr || function.version > best->version || function.per_thread) {
      best = &function;
    }
  }
  *pointer = best == nullptr ? nullptr : best->address;
  LogQuery(symbol, best != nullptr);
  return best == nullptr ? kNotFound : kOk;
}
