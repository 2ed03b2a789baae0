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

struct Table {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::size_t skipped = 0;  // those without a name come first
};

// What an object's dynamic section says about the slots that the linker fills.
struct Slots {
  std::uintptr_t symbols = 0;
  std::uintptr_t strings = 0;
  Table tables[2];  // of data and of calls
};

Slots FindSlots(ObjectReader& reader) {
  Slots slots;
  reader.ForEachDynamic([&](ElfW(Sxword) tag, std::uintptr_t value) {
    switch (tag) {
      case DT_SYMTAB:
        slots.symbols = reader.AddressOf(value);
        break;
      case DT_STRTAB:
        slots.strings = reader.AddressOf(value);
        break;
      case DT_RELA:
        slots.tables[0].begin = reader.AddressOf(value);
        break;
      case DT_RELASZ:
        slots.tables[0].bytes = value;
        break;
      case DT_RELACOUNT:
        slots.tables[0].skipped = value;
        break;
      case DT_JMPREL:
        slots.tables[1].begin = reader.AddressOf(value);
        break;
      case DT_PLTRELSZ:
        slots.tables[1].bytes = value;
        break;
      default:
        break;
    }
  });
  return slots;
}

bool IsBoundPast(const Bindings& bindings, const Slots& slots, const ElfW(Rela) & slot,
                 ObjectReader& reader) {
  const auto index = static_cast<std::size_t>(ELF64_R_SYM(slot.r_info));
  const std::uintptr_t name = slots.strings + reader.Entry<ElfW(Sym)>(slots.symbols, index).st_name;
  const char first = index == 0 ? '\0' : reader.Read<char>(name);
  if (first != 'c' && first != 'h' && first != 'd') {
    return false;
  }
  const char* text = reader.Text(name);
  const void* bound = reader.Read<void*>(reader.base() + slot.r_offset);
  return !reader.failed() && IsPast(bindings, text, bound);
}

int VisitBindings(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& bindings = *static_cast<Bindings*>(data);
  if (IsDriver(info->dlpi_name)) {
    return 0;
  }
  ObjectReader reader(*info);
  const Slots slots = FindSlots(reader);
  if (slots.symbols == 0 || slots.strings == 0) {
    return 0;
  }
  for (const Table& table : slots.tables) {
    const std::size_t count = table.begin == 0 ? 0 : table.bytes / sizeof(ElfW(Rela));
    for (std::size_t i = table.skipped; i < count && !reader.failed(); ++i) {
      const auto slot = reader.Entry<ElfW(Rela)>(table.begin, i);
      if (IsBoundPast(bindings, slots, slot, reader)) {
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
