// What gets past the interception, looked for when the process ends: libraries whose names the
// dynamic linker bound to the driver and not to the wrappers (RTLD_DEEPBIND), and drivers that were
// loaded once more, into a namespace in which the shim is not (dlmopen).
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "cuda/driver.h"
#include "hip/runtime.h"
#include "objects/elf_image.h"
#include "objects/object_table.h"
#include "providers/provider.h"
#include "record/recorder.h"

namespace memtool::capture {

namespace {

struct Providers {
  Provider* all[2] = {&CudaProvider(), &HipProvider()};
  Provider* const* begin() const { return all; }
  Provider* const* end() const { return all + 2; }
};

bool IsDriver(const char* path) {
  for (const Provider* provider : Providers()) {
    if (StartsWith(BaseName(path), provider->file_prefix)) {
      return true;
    }
  }
  return false;
}

// --- libraries that are bound past the wrappers

struct Bindings {
  const void* dlsym = nullptr;  // the C library's
  std::uint32_t past = 0;
};

// A slot of that name that leads to what the shim stands in front of.
bool IsPast(const Bindings& bindings, const char* name, const void* bound) {
  if (bound == nullptr || bound == bindings.dlsym) {
    return bound != nullptr && Equal(name, "dlsym");
  }
  for (const Provider* provider : Providers()) {
    const Entry* entry = FindEntry(*provider, name);
    if (entry != nullptr) {
      return entry->real.load(std::memory_order_relaxed) == bound;
    }
  }
  return false;
}

// As in objects/elf_image.cc: addresses below the load base are offsets.
template <class T>
const T* At(const dl_phdr_info& info, std::uintptr_t value) {
  return reinterpret_cast<const T*>(value < info.dlpi_addr ? value + info.dlpi_addr : value);
}

const ElfW(Dyn) * FindDynamic(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      return At<ElfW(Dyn)>(info, info.dlpi_phdr[i].p_vaddr);
    }
  }
  return nullptr;
}

struct Table {
  const ElfW(Rela) * begin = nullptr;
  std::size_t bytes = 0;
  std::size_t skipped = 0;  // those without a name come first
};

int VisitBindings(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& bindings = *static_cast<Bindings*>(data);
  const auto* dynamic = FindDynamic(*info);
  if (dynamic == nullptr || IsDriver(info->dlpi_name)) {
    return 0;
  }
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  Table tables[2];  // of data and of calls
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const std::uintptr_t value = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols = At<ElfW(Sym)>(*info, value);
        break;
      case DT_STRTAB:
        strings = At<char>(*info, value);
        break;
      case DT_RELA:
        tables[0].begin = At<ElfW(Rela)>(*info, value);
        break;
      case DT_RELASZ:
        tables[0].bytes = value;
        break;
      case DT_RELACOUNT:
        tables[0].skipped = value;
        break;
      case DT_JMPREL:
        tables[1].begin = At<ElfW(Rela)>(*info, value);
        break;
      case DT_PLTRELSZ:
        tables[1].bytes = value;
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr) {
    return 0;
  }
  for (const Table& table : tables) {
    const std::size_t count = table.begin == nullptr ? 0 : table.bytes / sizeof(ElfW(Rela));
    for (std::size_t i = table.skipped; i < count; ++i) {
      const ElfW(Rela)& slot = table.begin[i];
      const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(slot.r_info));
      const char* name = strings + symbols[symbol].st_name;
      if (symbol != 0 && (*name == 'c' || *name == 'h' || *name == 'd') &&
          IsPast(bindings, name, *At<void*>(*info, info->dlpi_addr + slot.r_offset))) {
        ++bindings.past;
        return 0;
      }
    }
  }
  return 0;
}

std::uint32_t CountLibraries() {
  bool loaded = false;
  for (const Provider* provider : Providers()) {
    if (ObjectHolds(provider->file_prefix, nullptr)) {
      loaded = true;
      for (std::size_t row = 0; row < provider->count; ++row) {
        FindReal(provider->entries[row], provider->file_prefix);
      }
    }
  }
  Bindings bindings;
  if (loaded) {
    bindings.dlsym = FindNext("dlsym");
    IterateObjects(VisitBindings, &bindings);
  }
  return bindings.past;
}

// --- drivers in other namespaces

// A line of /proc/self/maps: "7f05c1a00000-7f05c1b9d000 r-xp 00026000 fe:01 1234   /usr/lib/…".
bool IsUnknownDriver(const char* line) {
  std::uintptr_t start = 0;
  for (; *line != '-' && *line != '\0'; ++line) {
    start = start * 16 + static_cast<unsigned>(*line <= '9' ? *line - '0' : *line - 'a' + 10);
  }
  while (*line != ' ' && *line != '\0') {
    ++line;
  }
  const bool code = StartsWith(line, " r-x");
  while (*line != '/' && *line != '\0') {
    ++line;
  }
  if (!code || !IsDriver(line)) {
    return false;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* address = reinterpret_cast<const void*>(start);
  for (const Provider* provider : Providers()) {
    if (ObjectHolds(provider->file_prefix, address)) {
      return false;
    }
  }
  return true;
}

std::uint32_t CountDrivers() {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  static char line[4352];  // a path, and what stands before it
  static char bytes[4096];
  std::uint32_t drivers = 0;
  std::size_t length = 0;
  for (ssize_t size = 0; (size = read(fd, bytes, sizeof bytes)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      if (bytes[i] != '\n') {
        line[length] = bytes[i];
        length += length + 1 < sizeof line ? 1 : 0;
        continue;
      }
      line[length] = '\0';
      length = 0;
      drivers += IsUnknownDriver(line) ? 1 : 0;
    }
  }
  close(fd);
  return drivers;
}

BlindSpots LookForBlindSpots() {
  return {.libraries = CountLibraries(), .drivers = CountDrivers()};
}

// Before the log is closed.
__attribute__((destructor)) void Look() {
  RecordBlindSpots(LookForBlindSpots);
}

}  // namespace

}  // namespace memtool::capture
