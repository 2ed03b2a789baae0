// dlsym, exported to the whole process: hands out the wrappers of the providers. A look-up of any
// other name jumps on to the real dlsym with the caller's return address in place, because what
// dlsym means depends on its caller (RTLD_NEXT).
#include <dlfcn.h>

#include <atomic>

#include "base/thread_state.h"
#include "cuda/driver.h"
#include "hip/runtime.h"
#include "objects/elf_image.h"
#include "providers/provider.h"

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

// The provider that may have a function of this name: their names begin with "cu" and "hi". Nearly
// every look-up of a process ends here.
Provider* FindProvider(const char* name) {
  if (name[0] == 'c' && name[1] == 'u') {
    return &CudaProvider();
  }
  return name[0] == 'h' && name[1] == 'i' ? &HipProvider() : nullptr;
}

}  // namespace

// What the trampoline below saved. It restores the arguments from here, so that they may be changed
// for the real dlsym.
struct SavedCall {
  void* padding;
  const char* name;
  void* handle;
  const void* caller;
};

struct Decision {
  void* result;
  void* jump;  // where to continue; nullptr: return `result`
};

extern "C" Decision memtool_capture_decide(SavedCall* call) {
  const Dlsym real = RealDlsym();
  Provider* provider = call->name == nullptr ? nullptr : FindProvider(call->name);
  Entry* entry = provider == nullptr ? nullptr : FindEntry(*provider, call->name);
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
    // Only the shim has this name: the program must not see such a driver. The C library's handle
    // makes dlsym fail with its own message.
    call->handle = LibcHandle();
    return {nullptr, reinterpret_cast<void*>(real)};
  }
  const std::uintptr_t image = ImageHolding(provider->file_prefix, found);
  if (image == 0) {
    return {found, nullptr};
  }
  SetImage(*provider, image);
  entry->real.store(found, std::memory_order_release);
  return {entry->wrapper, nullptr};
}

// AddressSanitizer's shared library refuses to run after another preloaded library unless it is
// told to. It asks for its defaults by this name; a program's own answer comes before ours.
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

}  // namespace memtool::capture
