#include "providers/provider.h"

#include "base/text.h"
#include "objects/elf_image.h"
#include "record/recorder.h"

namespace memtool::capture {

Entry* FindEntry(const Provider& provider, const char* name) {
  for (std::size_t row = 0; row < provider.count; ++row) {
    if (Equal(provider.entries[row].name, name)) {
      return &provider.entries[row];
    }
  }
  return nullptr;
}

void SetImage(Provider& provider, std::uintptr_t image) {
  if (provider.image.exchange(image) == image) {
    return;
  }
  for (std::size_t row = 0; row < provider.count; ++row) {
    provider.entries[row].real.store(nullptr, std::memory_order_release);
  }
  provider.generation.fetch_add(1, std::memory_order_acq_rel);
}

void* FindReal(Entry& entry, const char* library) {
  void* real = entry.real.load(std::memory_order_acquire);
  if (real == nullptr) {
    real = FindSymbolAnywhere(entry.name, library);
    if (real != nullptr) {
      entry.real.store(real, std::memory_order_release);
    }
  }
  return real;
}

void* FindFunction(const Provider& provider, const char* name, DriverFunction& cache) {
  const std::uint32_t generation = provider.generation.load(std::memory_order_acquire);
  void* found = cache.generation.load(std::memory_order_acquire) == generation
                    ? cache.found.load(std::memory_order_acquire)
                    : nullptr;
  if (found == nullptr) {
    found = FindSymbolAnywhere(name, provider.file_prefix);
    cache.found.store(found, std::memory_order_release);
    cache.generation.store(generation, std::memory_order_release);
  }
  return found;
}

namespace {

bool IsWrapper(const Provider& provider, const void* function) {
  for (std::size_t row = 0; row < provider.count; ++row) {
    if (provider.entries[row].wrapper == function) {
      return true;
    }
  }
  return false;
}

// The form that a driver would give for (name, version, stream), for drivers whose pointers are not
// those of their exports.
Entry* EntryByRequest(Provider& provider, const char* symbol, std::uint32_t version,
                      bool per_thread) {
  Entry* best = nullptr;
  bool has_per_thread = false;
  for (std::size_t row = 0; row < provider.count; ++row) {
    has_per_thread = has_per_thread || (provider.entries[row].per_thread_stream &&
                                        Equal(provider.entries[row].base, symbol));
  }
  for (std::size_t row = 0; row < provider.count; ++row) {
    Entry& entry = provider.entries[row];
    if (Equal(entry.base, symbol) && entry.min_version <= version &&
        entry.per_thread_stream == (per_thread && has_per_thread) &&
        (best == nullptr || entry.min_version > best->min_version)) {
      best = &entry;
    }
  }
  return best;
}

}  // namespace

void* SwapByPointer(Provider& provider, void* found, const char* symbol, std::uint32_t version,
                    bool per_thread) {
  if (found == nullptr || IsWrapper(provider, found)) {
    return found;
  }
  for (std::size_t row = 0; row < provider.count; ++row) {
    Entry& entry = provider.entries[row];
    if (Equal(entry.base, symbol) && FindReal(entry, provider.file_prefix) == found) {
      return entry.wrapper;
    }
  }
  Entry* entry = EntryByRequest(provider, symbol, version, per_thread);
  if (entry == nullptr) {
    return found;  // older than the table: it has other arguments, and is hardly ever called
  }
  if (version > provider.newest_version || ExportsAt(provider.file_prefix, found)) {
    CountUnknownEntry();
    return found;
  }
  entry->real.store(found, std::memory_order_release);
  return entry->wrapper;
}

}  // namespace memtool::capture
