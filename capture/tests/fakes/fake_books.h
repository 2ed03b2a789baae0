// The books of a fake driver: exact sums of what was requested, by device and kind of memory, which
// the log's sums must equal. Addresses are numbers: only host memory is really allocated. Each fake
// driver has its own books.
//
// FAKE_DRIVER_BOOKS=FILE   where the books are written at exit: FILE.PID
// FAKE_DRIVER_CAPACITY=N   bytes of each device; more is out of memory
// FAKE_DRIVER_FAIL_FREES=1 frees of device pointers report an error
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#define API extern "C" __attribute__((visibility("default")))

namespace fake {

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
  Context* context;  // null: the device's
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

Books& B();
inline thread_local Context* t_context = nullptr;

std::string BookName(int device, const char* kind);
// With the lock held.
bool Room(int device, std::uint64_t size);
void Enter(const Block& block);
void Leave(const Block& block);

int Allocate(Pointer* out, std::uint64_t size, const char* kind, Context* context, int device);
int AllocateHere(Pointer* out, std::uint64_t size, const char* kind, bool of_context = true);
int Release(Pointer pointer);
int EnterHost(void* pointer, std::uint64_t size, const char* kind);
void EndContext(Context* context);

// Physical memory by handles, and what is mapped of it.
int CreateHandle(Pointer* handle, std::uint64_t size, int device);
int ReleaseHandle(Pointer handle);
int RetainHandle(Pointer* handle, Pointer address);
int Map(Pointer address, Pointer handle);
int Unmap(Pointer address, std::uint64_t size);
Pointer Reserve(std::uint64_t size);

}  // namespace fake
