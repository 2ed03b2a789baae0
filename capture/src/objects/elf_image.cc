#include "objects/elf_image.h"

#include <atomic>
#include <cstring>

#include "base/text.h"
#include "objects/object_table.h"

namespace memtool::capture {

namespace {

struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

// The linker rewrites the addresses of most objects in place, but not those of read-only sections
// (the vdso): what is below the load base is still an offset.
template <class T>
const T* At(const dl_phdr_info& info, std::uintptr_t value) {
  return reinterpret_cast<const T*>(value < info.dlpi_addr ? value + info.dlpi_addr : value);
}

Dynamic ReadDynamic(const dl_phdr_info& info) {
  Dynamic dynamic;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) {
      continue;
    }
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const std::uintptr_t value = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) {
        dynamic.symbols = At<ElfW(Sym)>(info, value);
      } else if (entry->d_tag == DT_STRTAB) {
        dynamic.strings = At<char>(info, value);
      } else if (entry->d_tag == DT_GNU_HASH) {
        dynamic.gnu_hash = At<std::uint32_t>(info, value);
      } else if (entry->d_tag == DT_HASH) {
        dynamic.hash = At<std::uint32_t>(info, value);
      }
    }
  }
  return dynamic;
}

bool Defines(const Dynamic& dynamic, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = dynamic.symbols[index];
  const unsigned type = symbol.st_info & 0xfU;
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         (type == STT_FUNC || type == STT_OBJECT) && Equal(dynamic.strings + symbol.st_name, name);
}

std::uint32_t FindGnu(const Dynamic& dynamic, const char* name) {
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) {
    hash = hash * 33 + static_cast<unsigned char>(*c);
  }
  const std::uint32_t bucket_count = dynamic.gnu_hash[0];
  const std::uint32_t first = dynamic.gnu_hash[1];
  const std::uint32_t bloom_words = dynamic.gnu_hash[2];
  if (bucket_count == 0) {
    return 0;
  }
  const std::uint32_t* buckets =
      dynamic.gnu_hash + 4 + std::size_t{bloom_words} * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = buckets + bucket_count;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) {
    return 0;
  }
  for (;; ++index) {
    const std::uint32_t entry = chain[index - first];
    if ((entry | 1U) == (hash | 1U) && Defines(dynamic, index, name)) {
      return index;
    }
    if ((entry & 1U) != 0) {
      return 0;
    }
  }
}

std::uint32_t FindLinear(const Dynamic& dynamic, const char* name) {
  const std::uint32_t count = dynamic.hash[1];
  for (std::uint32_t i = 1; i < count; ++i) {
    if (Defines(dynamic, i, name)) {
      return i;
    }
  }
  return 0;
}

// A GNU hash table does not say how many symbols there are: the last chain ends with the last one.
std::uint32_t SymbolCount(const Dynamic& dynamic) {
  if (dynamic.gnu_hash == nullptr) {
    return dynamic.hash == nullptr ? 0 : dynamic.hash[1];
  }
  const std::uint32_t bucket_count = dynamic.gnu_hash[0];
  const std::uint32_t first = dynamic.gnu_hash[1];
  const std::uint32_t* buckets =
      dynamic.gnu_hash + 4 + std::size_t{dynamic.gnu_hash[2]} * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = buckets + bucket_count;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < bucket_count; ++i) {
    last = buckets[i] > last ? buckets[i] : last;
  }
  if (last < first) {
    return 0;
  }
  while ((chain[last - first] & 1U) == 0) {
    ++last;
  }
  return last + 1;
}

bool ExportsAt(const dl_phdr_info& info, std::uintptr_t address) {
  const Dynamic dynamic = ReadDynamic(info);
  const std::uint32_t count = dynamic.symbols == nullptr ? 0 : SymbolCount(dynamic);
  for (std::uint32_t i = 1; i < count; ++i) {
    const ElfW(Sym)& symbol = dynamic.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 0xfU) == STT_FUNC &&
        info.dlpi_addr + symbol.st_value == address) {
      return true;
    }
  }
  return false;
}

bool Holds(const dl_phdr_info& info, std::uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD &&
        address - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

bool IsShim(const dl_phdr_info& info) {
  return Holds(info, reinterpret_cast<std::uintptr_t>(&FindSymbol));
}

using Iterate = int (*)(int (*)(dl_phdr_info*, std::size_t, void*), void*);

// Without dl_iterate_phdr: the names and dynamic sections that the dynamic linker keeps for
// debuggers.
Iterate FindIterate() {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (!StartsWith(BaseName(object->l_name), "libc.so")) {
      continue;
    }
    ElfW(Phdr) dynamic{};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_vaddr = reinterpret_cast<std::uintptr_t>(object->l_ld) - object->l_addr;
    dl_phdr_info info{};
    info.dlpi_addr = object->l_addr;
    info.dlpi_phdr = &dynamic;
    info.dlpi_phnum = 1;
    if (void* found = FindSymbol(info, "dl_iterate_phdr"); found != nullptr) {
      return reinterpret_cast<Iterate>(found);
    }
  }
  return &dl_iterate_phdr;
}

// A search over the loaded objects.
struct Search {
  const char* name = nullptr;
  const char* prefix = nullptr;
  const void* address = nullptr;
  bool exported = false;  // look for an export at `address`, not only for its object
  bool after_shim = false;
  bool passed_shim = false;
  bool object_found = false;
  std::uintptr_t base = 0;  // the object's
  void* found = nullptr;
};

int Visit(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (IsShim(*info)) {
    search.passed_shim = true;
    return 0;
  }
  if (search.prefix != nullptr && !StartsWith(BaseName(info->dlpi_name), search.prefix)) {
    return 0;
  }
  if (search.name == nullptr) {
    const auto address = reinterpret_cast<std::uintptr_t>(search.address);
    search.object_found = search.address == nullptr || Holds(*info, address);
    search.base = info->dlpi_addr;
    if (search.object_found && search.exported) {
      search.object_found = ExportsAt(*info, address);
    }
    return search.object_found ? 1 : 0;
  }
  if (search.after_shim && !search.passed_shim) {
    return 0;
  }
  search.found = FindSymbol(*info, search.name);
  return search.found != nullptr ? 1 : 0;
}

struct ShimRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

int VisitShim(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  if (!IsShim(*info)) {
    return 0;
  }
  auto& range = *static_cast<ShimRange*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      range.begin = info->dlpi_addr + segment.p_vaddr;
      range.end = range.begin + segment.p_memsz;
    }
  }
  return 1;
}

}  // namespace

// The C library's own: the name would lead to a sanitizer's interceptor, which crashes before the
// sanitizer is ready, and the sanitizer calls dlsym to get ready.
int ForEachObject(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  static std::atomic<Iterate> iterate{nullptr};
  Iterate found = iterate.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = FindIterate();
    iterate.store(found, std::memory_order_release);
  }
  return found(visit, data);
}

void* FindSymbol(const dl_phdr_info& info, const char* name) {
  const Dynamic dynamic = ReadDynamic(info);
  if (dynamic.symbols == nullptr || dynamic.strings == nullptr) {
    return nullptr;
  }
  std::uint32_t index = 0;
  if (dynamic.gnu_hash != nullptr) {
    index = FindGnu(dynamic, name);
  } else if (dynamic.hash != nullptr) {
    index = FindLinear(dynamic, name);
  }
  return index == 0 ? nullptr
                    : reinterpret_cast<void*>(info.dlpi_addr + dynamic.symbols[index].st_value);
}

void* FindSymbolAnywhere(const char* name, const char* prefix) {
  Search search{.name = name, .prefix = prefix};
  IterateObjects(Visit, &search);
  return search.found;
}

bool ObjectHolds(const char* prefix, const void* address) {
  Search search{.prefix = prefix, .address = address};
  IterateObjects(Visit, &search);
  return search.object_found;
}

std::uintptr_t ImageHolding(const char* prefix, const void* address) {
  Search search{.prefix = prefix, .address = address};
  IterateObjects(Visit, &search);
  return search.object_found ? search.base : 0;
}

bool ExportsAt(const char* prefix, const void* address) {
  Search search{.prefix = prefix, .address = address, .exported = true};
  IterateObjects(Visit, &search);
  return search.object_found;
}

void* FindNext(const char* name) {
  Search search{.name = name, .after_shim = true};
  IterateObjects(Visit, &search);
  return search.found != nullptr ? search.found : FindSymbolAnywhere(name, nullptr);
}

bool InShim(std::uintptr_t address) {
  static ShimRange range;
  if (range.end == 0) {
    IterateObjects(VisitShim, &range);
  }
  return address >= range.begin && address < range.end;
}

BuildId FindBuildId(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) {
      continue;
    }
    const auto* at = reinterpret_cast<const unsigned char*>(info.dlpi_addr + segment.p_vaddr);
    const unsigned char* end = at + segment.p_memsz;
    while (end - at >= 12) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof note);
      const std::size_t name = (std::size_t{note.n_namesz} + 3U) & ~std::size_t{3};
      const std::size_t body = (std::size_t{note.n_descsz} + 3U) & ~std::size_t{3};
      if (static_cast<std::size_t>(end - at) < 12 + name + body) {
        break;
      }
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + 12, "GNU", 4) == 0) {
        return {at + 12 + name, note.n_descsz};
      }
      at += 12 + name + body;
    }
  }
  return {};
}

}  // namespace memtool::capture
