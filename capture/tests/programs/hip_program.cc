// usage: hip_program HOW SCENARIO: calls the HIP runtime in known ways; the fake keeps the books.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "fakes/hip_functions.h"

namespace {

struct Hip {
#define MEMBER(name, arguments) int(*name) arguments;
  HIP_FUNCTIONS(MEMBER)
#undef MEMBER
};
Hip g;

void Check(bool holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "hip_program: %s\n", what);
    _exit(9);
  }
}

using GetProc = int (*)(const char*, void**, int, std::uint64_t, void*);

void* Ask(GetProc get, const char* name) {
  void* found = nullptr;
  Check(get(name, &found, 60200000, 0, nullptr) == 0 && found != nullptr, name);
  return found;
}

void Load(std::string_view how) {
  if (how == "linked") {
#define SET(name, arguments) g.name = &name;
    HIP_FUNCTIONS(SET)
#undef SET
    return;
  }
  void* library = dlopen("libamdhip64.so.6", RTLD_NOW);
  Check(library != nullptr, "no library");
  const auto get = reinterpret_cast<GetProc>(dlsym(library, "hipGetProcAddress"));
#define LOOK(name, arguments)                                                                      \
  g.name =                                                                                         \
      reinterpret_cast<int(*) arguments>(how == "proc" ? Ask(get, #name) : dlsym(library, #name)); \
  Check(g.name != nullptr, #name);
  HIP_FUNCTIONS(LOOK)
#undef LOOK
}

// Every wrapped call that allocates; about half is freed.
void Calls(int device) {
  Check(g.hipSetDevice(device) == 0, "device");
  void* p[40] = {};
  std::size_t pitch = 0;
  Check(g.hipMalloc(&p[0], 0) == 0 && p[0] == nullptr && g.hipFree(nullptr) == 0, "nothing");
  for (std::size_t i = 1; i < 8; ++i) {
    Check(g.hipMalloc(&p[i], i * 1000000) == 0, "hipMalloc");
  }
  Check(g.hipFree(p[3]) == 0 && g.hipFree(p[5]) == 0, "hipFree");
  Check(g.hipExtMallocWithFlags(&p[8], 12345, 1) == 0, "flags");
  Check(g.hipMallocManaged(&p[9], 1 << 20, 1) == 0, "managed");
  Check(g.hipMallocManaged(&p[10], 3 << 20, 1) == 0 && g.hipFree(p[9]) == 0, "managed");
  Check(g.hipMallocPitch(&p[11], &pitch, 1000, 33) == 0, "pitch");
  Check(g.hipMemAllocPitch(&p[12], &pitch, 1001, 7, 4) == 0, "pitch");
  HipPitchedPointer pitched{};
  Check(g.hipMalloc3D(&pitched, {300, 20, 5}) == 0, "3D");
  int stream = 0;
  const int props[16] = {1, 0, 1, device};
  void* pool = nullptr;
  Check(g.hipMemPoolCreate(&pool, props) == 0, "pool");
  Check(g.hipMallocAsync(&p[13], 4096, &stream) == 0, "async");
  Check(g.hipMallocAsync(&p[14], 5 << 20, nullptr) == 0, "async");
  Check(g.hipMallocFromPoolAsync(&p[15], 6 << 20, pool, &stream) == 0, "from pool");
  void* captured = reinterpret_cast<void*>(0xca97);
  Check(g.hipMallocAsync(&p[26], 9 << 20, captured) == 0, "a node of a graph");
  Check(g.hipFreeAsync(p[26], captured) == 0, "a node of a graph");
  Check(g.hipFreeAsync(p[14], nullptr) == 0 && g.hipFree(p[15]) == 0, "free async");
  Check(g.hipMemPoolTrimTo(pool, 0) == 0 && g.hipMemPoolDestroy(pool) == 0, "pool end");
  static char registered[1 << 16];
  Check(g.hipHostMalloc(&p[16], 10000, 0) == 0 && g.hipHostAlloc(&p[17], 20000, 0) == 0, "host");
  Check(g.hipMallocHost(&p[18], 30000) == 0 && g.hipMemAllocHost(&p[19], 40000) == 0, "host");
  Check(g.hipHostRegister(registered, sizeof registered, 0) == 0, "register");
  Check(g.hipHostFree(p[16]) == 0 && g.hipFreeHost(p[18]) == 0, "free host");
  Check(g.hipHostUnregister(registered) == 0, "unregister");
  const int channels[5] = {32, 32, 0, 0, 2};
  const struct {
    std::size_t width, height;
    int format;
    unsigned count;
  } flat{100, 50, 0x20, 4};
  const struct {
    std::size_t width, height, depth;
    int format;
    unsigned count, flags;
  } solid{16, 8, 4, 0x20, 1, 0};
  Check(g.hipMallocArray(&p[20], channels, 640, 0, 0) == 0, "array");
  Check(g.hipMalloc3DArray(&p[21], channels, {10, 20, 30}, 0) == 0, "array");
  Check(g.hipArrayCreate(&p[22], &flat) == 0 && g.hipArray3DCreate(&p[23], &solid) == 0, "array");
  Check(g.hipFreeArray(p[20]) == 0 && g.hipArrayDestroy(p[22]) == 0, "free arrays");
  HipIpc ipc{};
  Check(g.hipIpcOpenMemHandle(&p[24], ipc, 1) == 0 && g.hipIpcCloseMemHandle(p[24]) == 0, "ipc");
  Check(g.hipMemImportFromShareableHandle(&p[25], &stream, 1) == 0, "import");
}

void Vmm() {
  const int props[16] = {1, 0, 1, 1};
  void* base = nullptr;
  void* first = nullptr;
  void* second = nullptr;
  void* again = nullptr;
  constexpr std::size_t kPiece = 2 << 20;
  const auto at = [&base](std::size_t n) { return static_cast<char*>(base) + n * kPiece; };
  Check(g.hipMemAddressReserve(&base, 8 * kPiece, 0, nullptr, 0) == 0, "reserve");
  Check(g.hipMemCreate(&first, kPiece, props, 0) == 0, "create");
  Check(g.hipMemCreate(&second, 2 * kPiece, props, 0) == 0, "create");
  Check(g.hipMemMap(at(0), kPiece, 0, first, 0) == 0, "map");
  Check(g.hipMemMap(at(1), 2 * kPiece, 0, second, 0) == 0, "map");
  Check(g.hipMemRelease(first) == 0, "released, still mapped");
  Check(g.hipMemRetainAllocationHandle(&again, at(1)) == 0 && again == second, "retain");
  Check(g.hipMemRelease(second) == 0 && g.hipMemUnmap(at(1), 2 * kPiece) == 0, "one reference");
  Check(g.hipMemUnmap(at(0), kPiece) == 0, "the first is gone");
  Check(g.hipMemRelease(reinterpret_cast<void*>(0x77)) != 0, "unknown handle");
  Check(g.hipMemUnmap(at(4), kPiece) != 0, "nothing is mapped there");
  Check(g.hipMemAddressFree(base, 8 * kPiece) == 0, "unreserve");
}

// Of 90,000,000 bytes.
void Oom() {
  void* p = nullptr;
  Check(g.hipMalloc(&p, 5 << 20) == 0 && g.hipMalloc(&p, 100 << 20) == 2, "no room");
  Check(g.hipMallocAsync(&p, 90 << 20, nullptr) == 2, "no room");
  Check(g.hipFree(reinterpret_cast<void*>(0x5000)) != 0, "unknown pointer");
}

void Resets() {
  void* p = nullptr;
  for (int device = 0; device < 2; ++device) {
    Check(g.hipSetDevice(device) == 0 && g.hipMalloc(&p, 7 << 20) == 0, "device");
  }
  Check(g.hipDeviceReset() == 0, "of device 1");
  Check(g.hipMalloc(&p, 1 << 20) == 0 && g.hipDevicePrimaryCtxReset(0) == 0, "of device 0");
}

}  // namespace

int main(int count, char** words) {
  Check(count == 3, "usage: hip_program HOW SCENARIO");
  Load(words[1]);
  const std::string_view scenario = words[2];
  if (scenario == "calls") {
    Calls(0);
    Calls(1);
  } else if (scenario == "vmm") {
    Vmm();
  } else if (scenario == "oom") {
    Oom();
  } else {
    Check(scenario == "resets", "no such scenario");
    Resets();
  }
  return 0;
}
