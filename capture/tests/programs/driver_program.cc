// usage: driver_program HOW SCENARIO: calls the driver in known ways; the fake keeps the books.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "memtool_capture.h"
#include "programs/driver.h"

namespace {

Driver g;

void Check(bool holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "driver_program: %s\n", what);
    _exit(9);
  }
}

void* NewContext(int device) {
  void* context = nullptr;
  Check(g.cuInit(0) == 0 && g.cuCtxCreate_v2(&context, 0, device) == 0, "no context");
  return context;
}

// Has no frame of its own at any optimization level, because tests count frames.
[[gnu::always_inline]] inline Pointer Alloc(std::size_t size) {
  Pointer pointer = 0;
  Check(g.cuMemAlloc_v2(&pointer, size) == 0, "cuMemAlloc");
  return pointer;
}

// Every wrapped call that allocates, on two devices; about half is freed.
void Calls(int device) {
  NewContext(device);
  for (std::size_t i = 1; i <= 10; ++i) {
    const Pointer kept = Alloc(i * 1000);
    const Pointer freed = Alloc(i << 20U);
    Check(kept != 0 && g.cuMemFree_v2(freed) == 0, "free");
  }
  Pointer pitched = 0;
  std::size_t pitch = 0;
  Check(g.cuMemAllocPitch_v2(&pitched, &pitch, 1000, 33, 4) == 0, "pitch");
  Pointer managed[2] = {};
  Check(g.cuMemAllocManaged(&managed[0], 1 << 20U, 1) == 0, "managed");
  Check(g.cuMemAllocManaged(&managed[1], 3 << 20U, 1) == 0, "managed");
  Check(g.cuMemFree_v2(managed[0]) == 0, "free managed");

  int stream = 0;
  const int props[16] = {1, 0, 1, device};
  void* pool = nullptr;
  Check(g.cuMemPoolCreate(&pool, props) == 0, "pool");
  Pointer async[4] = {};
  Check(g.cuMemAllocAsync(&async[0], 4096, &stream) == 0, "async");
  Check(g.cuMemAllocAsync(&async[1], 5 << 20U, nullptr) == 0, "async");
  Check(g.cuMemAllocFromPoolAsync(&async[2], 6 << 20U, pool, &stream) == 0, "from pool");
  Check(g.cuMemAllocFromPoolAsync(&async[3], 7 << 20U, pool, &stream) == 0, "from pool");
  Check(g.cuMemFreeAsync(async[1], nullptr) == 0 && g.cuMemFreeAsync(async[3], &stream) == 0,
        "free async");
  Check(g.cuMemFree_v2(async[2]) == 0, "a pool's memory may be freed by cuMemFree");
  Check(g.cuMemPoolTrimTo(pool, 0) == 0 && g.cuMemPoolDestroy(pool) == 0, "pool end");

  void* host[3] = {};
  static char registered[1 << 16];
  Check(g.cuMemHostAlloc(&host[0], 10000, 0) == 0, "host");
  Check(g.cuMemAllocHost_v2(&host[1], 20000) == 0, "host");
  Check(g.cuMemHostAlloc(&host[2], 30000, 1) == 0, "host");
  Check(g.cuMemHostRegister_v2(registered, sizeof registered, 0) == 0, "register");
  Check(g.cuMemFreeHost(host[1]) == 0, "free host");
  Check(device == 1 || g.cuMemHostUnregister(registered) == 0, "unregister");

  struct {
    std::size_t width, height;
    int format;
    unsigned channels;
  } const flat{100, 7, 0x20, 4};
  struct {
    std::size_t width, height, depth;
    int format;
    unsigned channels, flags;
  } const deep{64, 32, 4, 0x20, 2, 0}, image{64, 64, 0, 0x20, 1, 0};
  Pointer arrays[3] = {};
  Check(g.cuArrayCreate_v2(&arrays[0], &flat) == 0, "array");
  Check(g.cuArray3DCreate_v2(&arrays[1], &deep) == 0, "array 3d");
  Check(g.cuMipmappedArrayCreate(&arrays[2], &image, 3) == 0, "mipmap");
  Check(g.cuArrayDestroy(arrays[0]) == 0, "array end");
  Check(device == 1 || g.cuMipmappedArrayDestroy(arrays[2]) == 0, "mipmap end");
}

// Physical memory is freed once released and unmapped, in either order.
void Vmm() {
  NewContext(0);
  constexpr std::size_t kSize = 2 << 20U;
  const int prop[16] = {1, 0, 1, 0};
  Pointer range = 0;
  Check(g.cuMemAddressReserve(&range, 16 * kSize, 0, 0, 0) == 0, "reserve");
  Pointer handles[6] = {};
  for (std::size_t i = 0; i < 6; ++i) {
    Check(g.cuMemCreate(&handles[i], kSize * (i + 1), prop, 0) == 0, "create");
  }
  const int part[16] = {1, 0, 6, 0x100};  // part 1 of device 0, as since 13.4
  Pointer of_part = 0;
  Check(g.cuMemCreate(&of_part, 3 * kSize, part, 0) == 0, "create in a part of a device");
  Pointer at[5] = {};
  Pointer next = range;
  for (std::size_t i = 0; i < 5; ++i) {
    at[i] = next;
    next += kSize * (i + 1);
    Check(g.cuMemMap(at[i], kSize * (i + 1), 0, handles[i], 0) == 0, "map");
  }
  Check(g.cuMemRelease(handles[0]) == 0, "release 0: still mapped");
  Check(g.cuMemUnmap(at[1], kSize * 2) == 0, "unmap 1: still referred to");
  Check(g.cuMemRelease(handles[1]) == 0, "release 1: gone");
  Pointer again = 0;
  Check(g.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(at[2])) == 0, "retain");
  Check(g.cuMemRelease(handles[2]) == 0 && g.cuMemUnmap(at[2], kSize * 3) == 0, "2: one more");
  Check(g.cuMemRelease(again) == 0, "release 2: gone");
  // One unmap over two mappings.
  Check(g.cuMemRelease(handles[3]) == 0 && g.cuMemRelease(handles[4]) == 0, "release 3, 4");
  Check(g.cuMemUnmap(at[3], kSize * 9) == 0, "unmap 3, 4");
  Check(g.cuMemRelease(handles[4]) != 0, "released before");
  Check(g.cuMemUnmap(at[3], kSize) != 0, "unmapped before");
  Check(g.cuMemAddressFree(range, 16 * kSize) == 0, "address free");
  Pointer imported = 0;
  Pointer opened = 0;
  IpcHandle ipc{};
  ipc.bytes[63] = 7;
  Check(g.cuMemImportFromShareableHandle(&imported, nullptr, 1) == 0, "import");
  Check(g.cuIpcOpenMemHandle_v2(&opened, ipc, 0) == 0 && opened == 0x600000007000, "ipc");
  Check(g.cuIpcCloseMemHandle(opened) == 0 && g.cuMemRelease(imported) != 0, "ipc end");
}

void Oom() {
  NewContext(0);
  for (int i = 0; i < 5; ++i) {
    Alloc(1 << 20U);
  }
  Pointer pointer = 0;
  Check(g.cuMemAlloc_v2(&pointer, 100 << 20U) == 2, "out of memory expected");
  Check(g.cuMemAllocManaged(&pointer, 0, 1) == 1, "an invalid size");
  const int prop[16] = {1, 0, 1, 0};
  Check(g.cuMemCreate(&pointer, 90 << 20U, prop, 0) == 2, "out of memory expected");
}

void UnknownFrees() {
  NewContext(0);
  const Pointer known = Alloc(4096);
  Check(g.cuMemFree_v2(0x1234500) != 0, "a pointer of nobody");
  Check(g.cuMemFree_v2(0) == 0, "null");
  Check(g.cuMemFree_v2(known) == 0 && g.cuMemFree_v2(known) != 0, "freed twice");
  Alloc(8192);
}

void Contexts() {
  void* first = NewContext(0);
  Alloc(1 << 20U);
  void* host = nullptr;
  Check(g.cuMemAllocHost_v2(&host, 5000) == 0, "host");
  Pointer pooled = 0;
  Check(g.cuMemAllocAsync(&pooled, 777, nullptr) == 0, "async");
  void* second = NewContext(1);
  Alloc(2 << 20U);
  Check(g.cuCtxDestroy_v2(first) == 0, "destroy");
  void* primary = nullptr;
  Check(g.cuDevicePrimaryCtxRetain(&primary, 1) == 0 && g.cuCtxSetCurrent(primary) == 0, "primary");
  Check(g.cuDevicePrimaryCtxRetain(&primary, 1) == 0, "primary again");
  Alloc(4 << 20U);
  Check(g.cuDevicePrimaryCtxRelease_v2(1) == 0, "one reference left: nothing goes");
  Alloc(8 << 20U);
  Check(g.cuDevicePrimaryCtxRelease_v2(1) == 0, "the last reference");
  Check(g.cuDevicePrimaryCtxRetain(&primary, 0) == 0 && g.cuCtxSetCurrent(primary) == 0, "third");
  Alloc(16 << 20U);
  Check(g.cuDevicePrimaryCtxReset_v2(0) == 0, "reset");
  Check(g.cuCtxSetCurrent(second) == 0, "back");
  Alloc(32 << 20U);
}

// Allocations of a graph take memory when it first runs.
void Graphs() {
  NewContext(0);
  int stream = 0;
  Alloc(1 << 20U);
  void* graphs[3] = {};
  Pointer pointers[3] = {};
  Check(g.cuStreamBeginCapture_v2(&stream, 0) == 0, "capture");
  Check(g.cuMemAllocAsync(&pointers[0], 5 << 20U, &stream) == 0, "in a captured stream");
  Check(g.cuMemAllocAsync(&pointers[1], 3 << 20U, &stream) == 0, "in a captured stream");
  Check(g.cuMemFreeAsync(pointers[1], &stream) == 0, "a node that frees");
  Check(g.cuStreamEndCapture(&stream, &graphs[0]) == 0, "capture");
  Check(g.cuMemAllocAsync(&pointers[1], 4096, &stream) == 0, "captured no longer");

  struct {
    int pool[22];
    const void* access;
    std::size_t access_count, size;
    Pointer pointer;
  } node{};
  void* added = nullptr;
  node.size = 7 << 20U;
  Check(g.cuGraphCreate(&graphs[1], 0) == 0 && g.cuGraphCreate(&graphs[2], 0) == 0, "graphs");
  Check(g.cuGraphAddMemAllocNode(&added, graphs[1], nullptr, 0, &node) == 0, "node");
  Check(g.cuGraphAddMemFreeNode(&added, graphs[1], nullptr, 0, node.pointer) == 0, "node");
  struct {
    int type, reserved[3];
    int pool[22];
    const void* access;
    std::size_t access_count, size;
    Pointer pointer;
  } other{};
  other.type = 10;
  other.size = 11 << 20U;
  Check(g.cuGraphAddNode_v2(&added, graphs[2], nullptr, nullptr, 0, &other) == 0, "node");
  other.size = 13 << 20U;
  Check(g.cuGraphAddNode_v3(&added, graphs[2], nullptr, nullptr, 0, &other) == 0, "node");
  for (void*& graph : graphs) {
    Check(g.cuGraphInstantiateWithFlags(&graph, graph, 0) == 0, "instantiate");
  }
  for (int round = 0; round < 3; ++round) {
    Check(g.cuGraphLaunch(graphs[0], &stream) == 0, "launch");
    Check(g.cuGraphLaunch(graphs[1], &stream) == 0, "launch");
  }
  Check(g.cuMemFreeAsync(pointers[0], &stream) == 0, "memory of a graph, freed outside of it");
  Check(g.cuDeviceGraphMemTrim(0) == 0 && g.cuDeviceGraphMemTrim(0) == 0, "trim");
  Check(g.cuGraphLaunch(graphs[2], &stream) == 0, "launch");
}

void Work(unsigned seed, void* context, int rounds) {
  g.cuCtxSetCurrent(context);
  std::mt19937 random(seed);
  std::vector<Pointer> live;
  for (int i = 0; i < rounds; ++i) {
    if (live.size() < 4 || random() % 2 == 0) {
      live.push_back(Alloc(512 * (1 + random() % 64)));
    } else {
      const std::size_t at = random() % live.size();
      Check(g.cuMemFree_v2(live[at]) == 0, "free");
      live[at] = live.back();
      live.pop_back();
    }
  }
}

void Threads(int rounds) {
  std::vector<std::thread> threads;
  void* contexts[2] = {NewContext(0), NewContext(1)};
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back(Work, i, contexts[i % 2], rounds);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// The first signal is before any log, the second between two allocations.
void Signalled() {
  NewContext(0);
  raise(SIGUSR2);
  Alloc(1 << 20U);
  Alloc(2 << 20U);
  raise(SIGUSR2);
  Alloc(4 << 20U);
}

void Fork() {
  NewContext(0);
  Alloc(1 << 20U);
  const pid_t child = fork();
  if (child == 0) {
    Alloc(2 << 20U);
    Alloc(3 << 20U);
    exit(0);
  }
  Alloc(4 << 20U);
  int status = 0;
  Check(waitpid(child, &status, 0) == child && status == 0, "child");
}

// Until it is killed.
void Endless() {
  NewContext(0);
  std::vector<std::thread> threads;
  void* context = NewContext(0);
  puts("ready");
  fflush(stdout);
  for (unsigned i = 0; i < 3; ++i) {
    threads.emplace_back(Work, i, context, 1 << 30U);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Api() {
  NewContext(0);
  MEMTOOL_CAPTURE(mark)("begin", 1);
  const Pointer segment = Alloc(1 << 20U);
  MEMTOOL_CAPTURE(push_tag)("layer1");
  MEMTOOL_CAPTURE(record_alloc)("arena", reinterpret_cast<void*>(segment), 1000, 0, nullptr);
  Alloc(4096);
  MEMTOOL_CAPTURE(push_tag)("inner");
  MEMTOOL_CAPTURE(record_alloc)("arena", reinterpret_cast<void*>(segment + 1024), 500, 0, nullptr);
  MEMTOOL_CAPTURE(pop_tag)();
  MEMTOOL_CAPTURE(record_free)("arena", reinterpret_cast<void*>(segment));
  MEMTOOL_CAPTURE(pop_tag)();
  MEMTOOL_CAPTURE(stop)();
  Alloc(12345);
  MEMTOOL_CAPTURE(start)();
  MEMTOOL_CAPTURE(snapshot)();
}

// Frames with names to look for; not inlined and not tail calls. The innermost calls the driver
// itself: whether a helper between them is a frame would depend on the optimization.
[[gnu::noinline]] Pointer Innermost(std::size_t size) {
  Pointer pointer = 0;
  Check(g.cuMemAlloc_v2(&pointer, size) == 0, "cuMemAlloc");
  asm volatile("" ::: "memory");
  return pointer;
}
[[gnu::noinline]] Pointer Recurse(int depth, std::size_t size) {
  const Pointer pointer = depth == 0 ? Innermost(size) : Recurse(depth - 1, size);
  asm volatile("" ::: "memory");
  return pointer;
}

void Deep() {
  NewContext(0);
  Recurse(30, 1 << 20U);
}

// Pools of a device that is not the current one; a handle that is reused.
void Pools() {
  NewContext(0);
  int stream = 0;
  for (const int device : {1, 0, 1}) {
    const int props[16] = {1, 0, 1, device};
    void* pool = nullptr;
    Pointer pointers[2] = {};
    Check(g.cuMemPoolCreate(&pool, props) == 0, "pool");
    Check(g.cuMemAllocFromPoolAsync(&pointers[0], 1 << 20U, pool, &stream) == 0, "from pool");
    Check(g.cuMemAllocFromPoolAsync(&pointers[1], 2 << 20U, pool, &stream) == 0, "from pool");
    Check(g.cuMemAllocFromPoolAsync(&pointers[1], 500 << 20U, pool, &stream) == 2, "too much");
    Check(g.cuMemFreeAsync(pointers[0], &stream) == 0, "free");
    Check(g.cuMemPoolDestroy(pool) == 0, "pool end");
  }
}

// Allocates from a pool and frees a part of it again.
void UsePool(void* pool, std::size_t size) {
  Pointer pointers[2] = {};
  Check(g.cuMemAllocFromPoolAsync(&pointers[0], size, pool, nullptr) == 0, "from pool");
  Check(g.cuMemAllocFromPoolAsync(&pointers[1], 3 * size, pool, nullptr) == 0, "from pool");
  Check(g.cuMemFreeAsync(pointers[0], nullptr) == 0, "free");
}

// Pools that nobody made, managed ones, and what is left of them when the context ends.
void DefaultPools() {
  void* context = NewContext(0);
  constexpr std::size_t kSize = 1 << 20U;
  const int host[2] = {2, 0};
  const int node[2] = {3, 1};
  const int other[2] = {1, 1};
  const int nowhere[2] = {0, 0};
  void* pool = nullptr;
  Check(g.cuMemGetDefaultMemPool(&pool, host, 1) == 0, "of the host");
  UsePool(pool, kSize);
  Check(g.cuMemGetMemPool(&pool, node, 1) == 0, "of a part of the host");
  UsePool(pool, 2 * kSize);
  Check(g.cuMemGetDefaultMemPool(&pool, other, 1) == 0, "of a device");
  UsePool(pool, 3 * kSize);
  Check(g.cuMemGetDefaultMemPool(&pool, other, 2) == 0, "managed, of a device");
  UsePool(pool, 4 * kSize);
  Check(g.cuMemGetMemPool(&pool, host, 2) == 0, "managed, of the host");
  UsePool(pool, 5 * kSize);
  for (int i = 0; i < 1000; ++i) {
    Check(g.cuMemGetMemPool(&pool, nowhere, 2) == 0, "managed, of no place");
  }
  UsePool(pool, 6 * kSize);
  NewContext(1);
  UsePool(pool, 7 * kSize);
  Check(g.cuMemGetMemPool(&pool, nowhere, 1) != 0, "only managed memory needs no place");
  Check(g.cuMemGetDefaultMemPool(&pool, nullptr, 1) != 0, "no location");

  const int props[3][16] = {{1, 0, 1, 0}, {2, 0, 0, 0}, {2, 0, 1, 0}};
  for (const auto& wanted : props) {
    Check(g.cuMemPoolCreate(&pool, wanted) == 0, "made");
    UsePool(pool, 8 * kSize);
    Check(g.cuMemPoolDestroy(pool) == 0, "pool end");
  }
  Check(g.cuMemGetMemPool(&pool, host, 1) == 0, "asked for again, after the end of others");
  UsePool(pool, 9 * kSize);
  Check(g.cuCtxDestroy_v2(context) == 0, "what is a pool's stays");
}

int Run(std::string_view scenario, int rounds) {
  if (scenario == "calls") {
    Calls(0);
    Calls(1);
  } else if (scenario == "vmm") {
    Vmm();
  } else if (scenario == "pools") {
    Pools();
  } else if (scenario == "default_pools") {
    DefaultPools();
  } else if (scenario == "signalled") {
    Signalled();
  } else if (scenario == "graphs") {
    Graphs();
  } else if (scenario == "oom") {
    Oom();
  } else if (scenario == "unknown_frees") {
    UnknownFrees();
  } else if (scenario == "contexts") {
    Contexts();
  } else if (scenario == "threads") {
    Threads(rounds);
  } else if (scenario == "fork") {
    Fork();
  } else if (scenario == "endless") {
    Endless();
  } else if (scenario == "api") {
    Api();
  } else if (scenario == "deep") {
    Deep();
  } else if (scenario == "nothing") {
    return g.cuInit(0);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

bool LinkedDriver(Driver* driver);

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const bool loaded = strcmp(argv[1], "linked") == 0 ? LinkedDriver(&g) : LoadDriver(argv[1], &g);
  Check(loaded && g.cuMemAlloc_v2 != nullptr, "no driver");
  return Run(argv[2], argc > 3 ? atoi(argv[3]) : 2000);
}
