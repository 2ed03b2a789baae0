// dlsym, exported to the whole process. A look-up of a name that is none of ours jumps on to the
// real dlsym with the caller's return address in place, because dlsym's meaning depends on its
// caller (RTLD_NEXT).
#include <dlfcn.h>

#include "base.h"
#include "elf_image.h"
#include "provider.h"
#include "recorder.h"

namespace memtool::capture {

namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlopen = void* (*)(const char*, int);

Dlsym RealDlsym() {
  static std::atomic<Dlsym> real{nullptr};
  Dlsym found = real.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = reinterpret_cast<Dlsym>(FindNext("dlsym"));
    real.store(found, std::memory_order_release);
  }
  return found;
}

void* LibcHandle() {
  static const auto open = reinterpret_cast<Dlopen>(FindNext("dlopen"));
  return open == nullptr ? nullptr : open("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
}

// What is known of functions is of a library that is gone.
void ForgetImage(Provider& provider) {
  for (std::size_t row = 0; row < provider.count; ++row) {
    provider.entries[row].real.store(nullptr, std::memory_order_release);
  }
  provider.generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

// What the trampoline saved, by address: the arguments may be changed for the real dlsym.
struct SavedCall {
  void* padding;
  const char* name;
  void* handle;
  const void* caller;
};

struct Decision {
  void* result;
  void* jump;  // where to go on; null = return `result`
};

extern "C" Decision memtool_capture_decide(SavedCall* call) {
  const Dlsym real = RealDlsym();
  Provider* provider = nullptr;
  Entry* entry = call->name == nullptr ? nullptr : FindEntry(call->name, &provider);
  // Another interposer that asks for the next definition, and the driver that looks up its own
  // functions, get what they would get without us.
  if (entry == nullptr || call->handle == RTLD_NEXT || t_state.busy != 0 ||
      ObjectHolds(provider->file_prefix, call->caller)) {
    return {nullptr, reinterpret_cast<void*>(real)};
  }
  void* found = real(call->handle, call->name);
  if (found == nullptr) {
    return {nullptr, nullptr};
  }
  if (found == entry->wrapper) {
    if (ObjectHolds(provider->file_prefix, nullptr)) {
      return {found, nullptr};
    }
    // Only the shim has this name: to the program there is no such driver. The C library's handle
    // makes dlsym fail with its own message.
    call->handle = LibcHandle();
    return {nullptr, reinterpret_cast<void*>(real)};
  }
  const std::uintptr_t image = ImageHolding(provider->file_prefix, found);
  if (image == 0) {
    return {found, nullptr};
  }
  if (provider->image.exchange(image) != image) {
    ForgetImage(*provider);
  }
  entry->real.store(found, std::memory_order_release);
  return {entry->wrapper, nullptr};
}

// AddressSanitizer's shared library refuses to run behind another preloaded library unless it is
// told so. It asks for its defaults by this name; a program's own answer comes before ours.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "verify_asan_link_order=0";
}

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl dlsym\n"
    ".type dlsym, @function\n"
    "dlsym:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  push %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rax\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  mov %rsp, %rdi\n"
    "  call memtool_capture_decide\n"
    "  pop %rcx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  test %rdx, %rdx\n"
    "  jz 1f\n"
    "  jmp *%rdx\n"
    "1: ret\n"
    "  .cfi_endproc\n"
    ".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl dlsym\n"
    ".type dlsym, %function\n"
    "dlsym:\n"
    "  .cfi_startproc\n"
    "  stp x29, x30, [sp, #-48]!\n"
    "  .cfi_adjust_cfa_offset 48\n"
    "  .cfi_rel_offset x29, 0\n"
    "  .cfi_rel_offset x30, 8\n"
    // SavedCall at sp + 16: padding, name, handle, caller.
    "  stp x30, x1, [sp, #16]\n"
    "  stp x0, x30, [sp, #32]\n"
    "  add x0, sp, #16\n"
    "  bl memtool_capture_decide\n"
    "  mov x9, x1\n"
    "  ldr x1, [sp, #24]\n"
    "  mov x10, x0\n"
    "  ldr x0, [sp, #32]\n"
    "  ldp x29, x30, [sp], #48\n"
    "  .cfi_adjust_cfa_offset -48\n"
    "  cbz x9, 1f\n"
    "  br x9\n"
    "1: mov x0, x10\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size dlsym, .-dlsym\n");
#else
#  error "no dlsym trampoline for this processor"
#endif

Entry* FindEntry(const char* name, Provider** provider) {
  // Nearly every look-up of a process ends here.
  if ((name[0] != 'c' || name[1] != 'u') && (name[0] != 'h' || name[1] != 'i')) {
    return nullptr;
  }
  // Nor can a name of one be found in the other.
  Provider& candidate = name[0] == 'c' ? CudaProvider() : HipProvider();
  for (std::size_t row = 0; row < candidate.count; ++row) {
    if (Equal(candidate.entries[row].name, name)) {
      *provider = &candidate;
      return &candidate.entries[row];
    }
  }
  return nullptr;
}

Entry* FindWrapper(const void* wrapper) {
  for (Provider* provider : {&CudaProvider(), &HipProvider()}) {
    for (std::size_t row = 0; row < provider->count; ++row) {
      if (provider->entries[row].wrapper == wrapper) {
        return &provider->entries[row];
      }
    }
  }
  return nullptr;
}

void* RealOf(Entry& entry, const char* library) {
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
  if (found == nullptr || FindWrapper(found) != nullptr) {
    return found;
  }
  for (std::size_t row = 0; row < provider.count; ++row) {
    Entry& entry = provider.entries[row];
    if (Equal(entry.base, symbol) && RealOf(entry, provider.file_prefix) == found) {
      return entry.wrapper;
    }
  }
  Entry* entry = EntryByRequest(provider, symbol, version, per_thread);
  if (entry == nullptr) {
    return found;  // older than the table: of other arguments, and hardly ever called
  }
  if (version > provider.newest_version || ExportsAt(provider.file_prefix, found)) {
    CountUnknownEntry();
    return found;
  }
  entry->real.store(found, std::memory_order_release);
  return entry->wrapper;
}

}  // namespace memtool::capture
