#include "objects/elf_image.h"

#include <atomic>
#include <cstring>

#include "base/text.h"
#include "objects/object_table.h"

namespace memtool::capture {

namespace {

// What an object's dynamic section points at.
class Symbols {
 public:
  explicit Symbols(const dl_phdr_info& info) : reader_(info) {
    reader_.ForEachDynamic([this](ElfW(Sxword) tag, std::uintptr_t value) {
      std::uintptr_t* table = tag == DT_SYMTAB     ? &symbols_
                              : tag == DT_STRTAB   ? &strings_
                              : tag == DT_GNU_HASH ? &gnu_hash_
                              : tag == DT_HASH     ? &hash_
                                                   : nullptr;
      if (table != nullptr) {
        *table = reader_.AddressOf(value);
      }
    });
  }

  // The address that `name` is defined at, or 0.
  [[nodiscard]] std::uintptr_t Find(const char* name) {
    std::uint32_t index = 0;
    if (symbols_ == 0 || strings_ == 0) {
      return 0;
    }
    if (gnu_hash_ != 0) {
      index = FindGnu(name);
    } else if (hash_ != 0) {
      index = FindLinear(name);
    }
    return index == 0 ? 0 : reader_.base() + Symbol(index).st_value;
  }

  // Whether a function that the object exports begins there.
  [[nodiscard]] bool ExportAt(std::uintptr_t address) {
    const std::uint32_t count = symbols_ == 0 ? 0 : Count();
    for (std::uint32_t i = 1; i < count && !reader_.failed(); ++i) {
      const ElfW(Sym) symbol = Symbol(i);
      if (symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 0xfU) == STT_FUNC &&
          reader_.base() + symbol.st_value == address) {
        return true;
      }
    }
    return false;
  }

 private:
  std::uint32_t Word(std::uintptr_t table, std::size_t index) {
    return reader_.Entry<std::uint32_t>(table, index);
  }
  ElfW(Sym) Symbol(std::uint32_t index) { return reader_.Entry<ElfW(Sym)>(symbols_, index); }

  bool Defines(std::uint32_t index, const char* name) {
    const ElfW(Sym) symbol = Symbol(index);
    const unsigned type = symbol.st_info & 0xfU;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 ||
        (type != STT_FUNC && type != STT_OBJECT)) {
      return false;
    }
    std::uintptr_t at = strings_ + symbol.st_name;
    while (*name != '\0' && reader_.Read<char>(at) == *name) {
      ++at;
      ++name;
    }
    return *name == '\0' && reader_.Read<char>(at) == '\0' && !reader_.failed();
  }

  struct GnuHash {
    std::uint32_t bucket_count = 0;
    std::uint32_t first = 0;
    std::uintptr_t buckets = 0;
    std::uintptr_t chain = 0;
  };
  GnuHash ReadGnuHash() {
    GnuHash table{.bucket_count = Word(gnu_hash_, 0), .first = Word(gnu_hash_, 1)};
    const std::size_t bloom_words = Word(gnu_hash_, 2);
    table.buckets = gnu_hash_ + 16 + bloom_words * sizeof(ElfW(Addr));
    table.chain = table.buckets + std::size_t{table.bucket_count} * 4;
    return table;
  }

  std::uint32_t FindGnu(const char* name) {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c) {
      hash = hash * 33 + static_cast<unsigned char>(*c);
    }
    const GnuHash table = ReadGnuHash();
    if (table.bucket_count == 0) {
      return 0;
    }
    std::uint32_t index = Word(table.buckets, hash % table.bucket_count);
    if (index < table.first) {
      return 0;
    }
    for (; !reader_.failed(); ++index) {
      const std::uint32_t entry = Word(table.chain, index - table.first);
      if ((entry | 1U) == (hash | 1U) && Defines(index, name)) {
        return index;
      }
      if ((entry & 1U) != 0) {
        break;
      }
    }
    return 0;
  }

  std::uint32_t FindLinear(const char* name) {
    const std::uint32_t count = Word(hash_, 1);
    for (std::uint32_t i = 1; i < count && !reader_.failed(); ++i) {
      if (Defines(i, name)) {
        return i;
      }
    }
    return 0;
  }

  // A GNU hash table does not say how many symbols there are: the last chain ends with the last
  // one.
  std::uint32_t Count() {
    if (gnu_hash_ == 0) {
      return hash_ == 0 ? 0 : Word(hash_, 1);
    }
    const GnuHash table = ReadGnuHash();
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < table.bucket_count && !reader_.failed(); ++i) {
      const std::uint32_t index = Word(table.buckets, i);
      last = index > last ? index : last;
    }
    if (last < table.first) {
      return 0;
    }
    while (!reader_.failed() && (Word(table.chain, last - table.first) & 1U) == 0) {
      ++last;
    }
    return reader_.failed() ? 0 : last + 1;
  }

  ObjectReader reader_;
  std::uintptr_t symbols_ = 0;
  std::uintptr_t strings_ = 0;
  std::uintptr_t gnu_hash_ = 0;
  std::uintptr_t hash_ = 0;
};

bool Holds(const dl_phdr_info& info, std::uintptr_t address) {
  return FindSegment(info, address, 0).end != 0;
}

bool IsShim(const dl_phdr_info& info) {
  return Holds(info, reinterpret_cast<std::uintptr_t>(&FindSymbol));
}

using Iterate = int (*)(int (*)(dl_phdr_info*, std::size_t, void*), void*);

// Without dl_iterate_phdr: the list that the dynamic linker keeps for debuggers.
Iterate FindIterate() {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (!StartsWith(BaseName(object->l_name), "libc.so") || !CanRead(object->l_addr)) {
      continue;
    }
    ElfW(Ehdr) header;
    memcpy(&header, reinterpret_cast<const void*>(object->l_addr), sizeof header);
    dl_phdr_info info{};
    info.dlpi_addr = object->l_addr;
    info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(object->l_addr + header.e_phoff);
    info.dlpi_phnum = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 ? header.e_phnum : 0;
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
      search.object_found = Symbols(*info).ExportAt(address);
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

AddressRange FindSegment(const dl_phdr_info& info, std::uintptr_t address, unsigned flags) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags &&
        address - begin < segment.p_memsz) {
      return {begin, begin + segment.p_memsz};
    }
  }
  return {};
}

const char* ObjectReader::Text(std::uintptr_t at) {
  const auto* text = reinterpret_cast<const char*>(at);
  const std::size_t most = Reach(at, 1) ? segment_.end - at : 0;
  for (std::size_t size = 0; size < most; ++size) {
    if (text[size] == '\0') {
      return text;
    }
  }
  failed_ = true;
  return nullptr;
}

void* FindSymbol(const dl_phdr_info& info, const char* name) {
  return reinterpret_cast<void*>(Symbols(info).Find(name));
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
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (!FindSegment(info, begin).Holds(begin, segment.p_memsz)) {
      continue;
    }
    const auto* at = reinterpret_cast<const unsigned char*>(begin);
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
