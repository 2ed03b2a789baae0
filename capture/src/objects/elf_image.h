// Loaded objects as the dynamic linker lists them, and symbols looked up in one of them without
// dlsym: the shim *is* dlsym for the rest of the process.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "base/pages.h"

namespace memtool::capture {

// dl_iterate_phdr of the C library, past interceptors. Forks do not wait for it: use IterateObjects
// instead.
int ForEachObject(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data);

// The segment with these flags that holds `address`, empty without one. What an object says about
// itself is read within it.
AddressRange FindSegment(const dl_phdr_info& info, std::uintptr_t address, unsigned flags = PF_R);

// The address of a function or object that `info` defines, or nullptr. The first version found.
void* FindSymbol(const dl_phdr_info& info, const char* name);

// The same over every loaded object, in load order; `prefix`: only objects whose file name begins
// with it ("libcuda.so"), or nullptr for all. The shim itself is left out.
void* FindSymbolAnywhere(const char* name, const char* prefix);

// Whether an object with such a file name is loaded, and whether one of them holds `address`
// (nullptr = any).
bool ObjectHolds(const char* prefix, const void* address);

// The load base of the object with such a file name that holds `address`; 0 = none.
std::uintptr_t ImageHolding(const char* prefix, const void* address);

// Whether a function that such an object exports begins at `address`.
bool ExportsAt(const char* prefix, const void* address);

// What RTLD_NEXT from the shim would find, else the first definition in any other object.
void* FindNext(const char* name);

bool InShim(std::uintptr_t address);

struct BuildId {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
};
BuildId FindBuildId(const dl_phdr_info& info);

}  // namespace memtool::capture
