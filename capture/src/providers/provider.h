// A provider is a driver library whose functions are wrapped (CUDA's, HIP's): a table of exported
// names, each with our wrapper and, once it is known, the driver's function.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memtool::capture {

struct Entry {
  const char* name;           // as the library exports it: "cuMemAlloc_v2"
  const char* base;           // the name for cuGetProcAddress: "cuMemAlloc"
  std::uint32_t min_version;  // of the driver API in which this form appeared
  bool per_thread_stream;     // the _ptsz form
  void* wrapper;
  std::atomic<void*> real;
};

struct Provider {
  const char* file_prefix;  // beginning of the library's file name
  Entry* entries;
  std::size_t count;
  std::uint32_t newest_version;       // of the driver API that the table was made from
  std::atomic<std::uintptr_t> image;  // where the library lay when one of its functions was found
  // goes up when it is loaded elsewhere: closed and opened again
  std::atomic<std::uint32_t> generation;
};

// A function of the driver that the shim calls itself, remembered in `cache`.
struct DriverFunction {
  std::atomic<void*> found;
  std::atomic<std::uint32_t> generation;
};
void* FindFunction(const Provider& provider, const char* name, DriverFunction& cache);

template <class Function>
Function FindFunction(const Provider& provider, const char* name, DriverFunction& cache) {
  return reinterpret_cast<Function>(FindFunction(provider, name, cache));
}

// The entry of an exported name, or nullptr.
Entry* FindEntry(const Provider& provider, const char* name);

// The library was found at `image`. If it was elsewhere before, the known functions are those of a
// library that is gone, and are forgotten.
void SetImage(Provider& provider, std::uintptr_t image);

// The driver's function behind an entry; nullptr when no such library is loaded.
void* FindReal(Entry& entry, const char* library);

// What cuGetProcAddress (hipGetProcAddress) should hand out instead of `found`; `found` when it is
// not one of ours. A form that is newer than the table's is left alone, because its arguments may
// differ, and counted.
void* SwapByPointer(Provider& provider, void* found, const char* symbol, std::uint32_t version,
                    bool per_thread);

}  // namespace memtool::capture
