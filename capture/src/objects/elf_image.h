// Loaded objects as the dynamic linker lists them, and symbols looked up in one of them without
// dlsym: the shim *is* dlsym for the rest of the process.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/pages.h"

namespace memtool::capture {

// dl_iterate_phdr of the C library, past interceptors. Forks do not wait for it: use IterateObjects
// instead.
int ForEachObject(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data);

// The segment with these flags that holds `address`, empty without one. What an object says about
// itself is read within it.
AddressRange FindSegment(const dl_phdr_info& info, std::uintptr_t address, unsigned flags = PF_R);

// What an object says about itself. The dynamic linker may never have looked there, and what it did
// not need may be damaged: every read stays within the object's segments.
class ObjectReader {
 public:
  explicit ObjectReader(const dl_phdr_info& info) : info_(info) {}

  // A zero, and failed(), for what lies in no segment.
  template <class T>
  T Read(std::uintptr_t at) {
    T value{};
    if (Reach(at, sizeof value)) {
      memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
    }
    return value;
  }
  template <class T>
  T Entry(std::uintptr_t table, std::size_t index) {
    return Read<T>(table + index * sizeof(T));
  }
  // A string that ends in its segment, or nullptr and failed().
  const char* Text(std::uintptr_t at);

  // Calls visit(tag, value) for each entry of the dynamic section.
  template <class Visit>
  void ForEachDynamic(Visit visit) {
    for (int i = 0; i < info_.dlpi_phnum; ++i) {
      if (info_.dlpi_phdr[i].p_type != PT_DYNAMIC) {
        continue;
      }
      const std::uintptr_t table = info_.dlpi_addr + info_.dlpi_phdr[i].p_vaddr;
      ElfW(Dyn) entry = Read<ElfW(Dyn)>(table);
      for (std::size_t at = 1; entry.d_tag != DT_NULL; ++at) {
        visit(entry.d_tag, entry.d_un.d_val);
        entry = Entry<ElfW(Dyn)>(table, at);
      }
    }
  }
  // The linker rewrites the addresses of most dynamic sections in place, but not of read-only ones
  // (the vdso's): what is below the load base is still an offset.
  [[nodiscard]] std::uintptr_t AddressOf(std::uintptr_t value) const {
    return value < info_.dlpi_addr ? value + info_.dlpi_addr : value;
  }
  [[nodiscard]] std::uintptr_t base() const { return info_.dlpi_addr; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool Reach(std::uintptr_t at, std::size_t size) {
    if (!segment_.Holds(at, size)) {
      segment_ = FindSegment(info_, at);
      failed_ = failed_ || !segment_.Holds(at, size);
    }
    return segment_.Holds(at, size);
  }

  const dl_phdr_info& info_;
  AddressRange segment_;  // that was read last
  bool failed_ = false;
};

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
