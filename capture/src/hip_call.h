// How a wrapper of HIP begins.
#pragma once

#include "base.h"
#include "elf_image.h"

// The runtime's function of this name, or the status of a program without one.
#define MEMTOOL_HIP_REAL(name)                                 \
  const auto real = HipReal<decltype(&::name)>(Hip::k_##name); \
  if (real == nullptr) {                                       \
    return kHipNotInitialized;                                 \
  }                                                            \
  const Busy busy;                                             \
  const bool wanted = busy.entered() && Recording()

namespace memtool::capture {

struct SymbolName {
  const char* library;
  const char* name;
};

// A function that the shim calls but does not wrap.
template <class Function>
Function CachedSymbol(const SymbolName& symbol, std::atomic<void*>& cache) {
  void* found = cache.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = FindSymbolAnywhere(symbol.name, symbol.library);
    cache.store(found, std::memory_order_release);
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace memtool::capture
