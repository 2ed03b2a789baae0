#include "stacks/native_stack.h"

#include <pthread.h>
#include <unwind.h>

#include <atomic>

#include "base/lock.h"
#include "base/settings.h"
#include "base/thread_state.h"
#include "objects/elf_image.h"
#include "objects/object_table.h"
#include "stacks/cfi.h"

namespace memtool::capture {

namespace {

// --- libgcc's unwinder, looked up at run time: slow, but it knows every form of rule.

struct Trace {
  std::uintptr_t* addresses;
  std::uint32_t most;
  std::uint32_t count;
  bool cut;
};

struct Libgcc {
  _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void*) = nullptr;
  _Unwind_Ptr (*get_ip)(_Unwind_Context*) = nullptr;
  std::atomic<bool> tried{false};
};

Libgcc g_libgcc;

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* data) {
  Trace& trace = *static_cast<Trace*>(data);
  const std::uintptr_t address = g_libgcc.get_ip(context);
  if (address != 0 && !InShim(address)) {
    if (trace.count == trace.most) {
      trace.cut = true;
      return _URC_END_OF_STACK;
    }
    trace.addresses[trace.count++] = address;
  }
  return _URC_NO_REASON;
}

template <class T>
T FindInLibgcc(const char* name) {
  return reinterpret_cast<T>(FindSymbolAnywhere(name, "libgcc_s.so"));
}

void LoadLibgcc() {
  using Dlopen = void* (*)(const char*, int);
  const auto open = reinterpret_cast<Dlopen>(FindNext("dlopen"));
  if (open != nullptr && !ObjectHolds("libgcc_s.so", nullptr)) {
    open("libgcc_s.so.1", 1);
  }
  g_libgcc.get_ip = FindInLibgcc<decltype(g_libgcc.get_ip)>("_Unwind_GetIP");
  if (g_libgcc.get_ip != nullptr) {
    g_libgcc.backtrace = FindInLibgcc<decltype(g_libgcc.backtrace)>("_Unwind_Backtrace");
  }
  InShim(0);  // OnFrame must not ask the linker
  g_libgcc.tried.store(true, std::memory_order_release);
}

// NOLINTNEXTLINE(readability-non-const-parameter): written by the callback
std::uint32_t UnwindWithLibgcc(std::uintptr_t* addresses, std::uint32_t most, UnwindEnd* end) {
  if (!g_libgcc.tried.load(std::memory_order_acquire)) {
    LoadLibgcc();
  }
  Trace trace{addresses, most, 0, false};
  if (g_libgcc.backtrace != nullptr) {
    const LockGuard guard(Objects::TableLock());  // it may ask the linker too: see IterateObjects
    g_libgcc.backtrace(OnFrame, &trace);
  }
  *end = {.early = false, .cut = trace.cut};
  return trace.count;
}

#if defined(__x86_64__)

// --- Cached rules: an address and its rule in two words, valid when the address reads the same
// before and after the rule. Writers hold the lock of the object table.

constexpr std::size_t kRules = 16384;

struct Slot {
  std::atomic<std::uintptr_t> address;
  std::atomic<std::uint64_t> rule;
};

Slot g_rules[kRules];
std::atomic<std::uint32_t> g_rules_version{0};  // version of the objects that the rules belong to

Slot& FindSlot(std::uintptr_t address) {
  return g_rules[(address * 0x9e3779b97f4a7c15U) >> (64U - 14U)];
}

std::uint64_t Pack(const FrameRule& rule) {
  return static_cast<std::uint64_t>(rule.kind) | std::uint64_t{rule.from_frame_pointer} << 2U |
         std::uint64_t{rule.frame_pointer_saved} << 3U |
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rule.saved_at)) & 0xfffffffU)
             << 4U |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(rule.cfa_offset)) << 32U;
}

// Sign-extends the 28 bits in which `saved_at` travels.
std::int32_t SavedAt(std::uint64_t packed) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(packed) & 0xfffffff0U) >> 4;
}

struct Search {
  std::uintptr_t address;
  std::uint64_t packed;
};

// With the objects' lock held, as when clearing.
void Store(const Object* object, std::uintptr_t before, void* data) {
  auto& search = *static_cast<Search*>(data);
  search.packed = object == nullptr ? 0 : Pack(FindRule(*object, before));
  Slot& slot = FindSlot(search.address);
  slot.address.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.rule.store(search.packed, std::memory_order_relaxed);
  slot.address.store(search.address, std::memory_order_release);
}

// A return address may be the first byte after its function (a call that never returns).
__attribute__((noinline)) std::uint64_t FindAndStore(std::uintptr_t address) {
  Search search{address, 0};
  Objects::LookAt(address - 1, Store, &search);
  return search.packed;
}

inline std::uint64_t RuleAt(std::uintptr_t address) {
  const Slot& slot = FindSlot(address);
  if (slot.address.load(std::memory_order_acquire) == address) {
    const std::uint64_t packed = slot.rule.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.address.load(std::memory_order_relaxed) == address) {
      return packed;
    }
  }
  return FindAndStore(address);
}

// A newly loaded object may be where generated code was; an unloaded one may have made room for
// something else.
void ForgetAfterChange() {
  const std::uint32_t version = Objects::Version();
  if (g_rules_version.load(std::memory_order_acquire) == version) {
    return;
  }
  const LockGuard guard(Objects::TableLock());
  if (g_rules_version.load(std::memory_order_relaxed) == version) {
    return;
  }
  for (Slot& slot : g_rules) {
    slot.address.store(0, std::memory_order_relaxed);
  }
  g_rules_version.store(version, std::memory_order_release);
}

// Looked up, because their symbol versions are newer than GLIBC_2.28; and when the library is
// loaded, because the first thread that needs them may have a small stack.
struct Pthread {
  pthread_t (*self)() = nullptr;
  int (*attributes)(pthread_t, pthread_attr_t*) = nullptr;
  int (*stack)(const pthread_attr_t*, void**, std::size_t*) = nullptr;
  int (*destroy)(pthread_attr_t*) = nullptr;
};

Pthread g_pthread;

template <class T>
bool FindFunction(T* function, const char* name) {
  if (*function == nullptr) {
    *function = reinterpret_cast<T>(FindNext(name));
  }
  return *function != nullptr;
}

bool FindPthread() {
  return FindFunction(&g_pthread.attributes, "pthread_getattr_np") &&
         FindFunction(&g_pthread.stack, "pthread_attr_getstack") &&
         FindFunction(&g_pthread.destroy, "pthread_attr_destroy") &&
         FindFunction(&g_pthread.self, "pthread_self");
}

__attribute__((constructor(102))) void Resolve() {
  FindPthread();
  InShim(0);
}

// The bounds of the thread's stack, asked for once.
void FindStackBounds() {
  t_state.stack_low = t_state.stack_high = 1;
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (!FindPthread() || g_pthread.attributes(g_pthread.self(), &attributes) != 0) {
    return;
  }
  if (g_pthread.stack(&attributes, &low, &size) == 0) {
    t_state.stack_low = reinterpret_cast<std::uintptr_t>(low);
    t_state.stack_high = t_state.stack_low + size;
  }
  g_pthread.destroy(&attributes);
}

std::uintptr_t Word(std::uintptr_t at) {
  return *reinterpret_cast<const std::uintptr_t*>(at);
}

struct Registers {
  std::uintptr_t ip;
  std::uintptr_t sp;
  std::uintptr_t bp;
};

enum class Step : std::uint8_t { kDone, kEnd, kNoRule };

// Steps to the caller. Every address that is read is between the stack pointer and the end of the
// thread's stack.
inline Step StepOut(Registers& at) {
  const std::uintptr_t high = t_state.stack_high;
  const std::uint64_t packed = RuleAt(at.ip);
  const auto kind = static_cast<FrameRule::Kind>(packed & 3U);
  if (kind != FrameRule::Kind::kStep) {
    return kind == FrameRule::Kind::kUnsupported ? Step::kNoRule : Step::kEnd;
  }
  const std::uintptr_t base = (packed & 4U) != 0 ? at.bp : at.sp;
  const std::uintptr_t cfa =
      base + static_cast<std::uintptr_t>(std::intptr_t{static_cast<std::int32_t>(packed >> 32U)});
  if (cfa <= at.sp || cfa > high || cfa % 8 != 0) {
    return Step::kNoRule;
  }
  if ((packed & 8U) != 0) {
    const std::uintptr_t saved = cfa + static_cast<std::uintptr_t>(std::intptr_t{SavedAt(packed)});
    if (saved < at.sp || saved + 8 > high) {
      return Step::kNoRule;
    }
    at.bp = Word(saved);
  }
  at.ip = Word(cfa - 8);
  at.sp = cfa;
  return at.ip == 0 ? Step::kEnd : Step::kDone;
}

// Walks to the outermost frame.
std::uint32_t Walk(Registers at, std::uintptr_t* addresses, std::uint32_t most, UnwindEnd* end) {
  std::uint32_t count = 0;
  Step step = StepOut(at);
  for (; step == Step::kDone; step = StepOut(at)) {
    if (count == 0 && InShim(at.ip)) {
      continue;
    }
    if (count == most) {
      end->cut = true;
      return count;
    }
    addresses[count++] = at.ip;
  }
  end->early = step == Step::kNoRule;
  return count;
}

__attribute__((noinline)) std::uint32_t UnwindFast(std::uintptr_t* addresses, std::uint32_t most,
                                                   UnwindEnd* end, bool* trusted) {
  Registers at{};
  // The address after the lea is one past an instruction of this function, as return addresses are.
  __asm__ volatile("lea 1f(%%rip), %0\n1:\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                   : "=r"(at.ip), "=r"(at.sp), "=r"(at.bp));
  if (t_state.stack_high == 0) {
    FindStackBounds();
  }
  ForgetAfterChange();
  *trusted = at.sp >= t_state.stack_low && at.sp < t_state.stack_high;
  return *trusted ? Walk(at, addresses, most, end) : 0;
}

#endif

}  // namespace

std::uint32_t Unwind(std::uintptr_t* addresses, [[maybe_unused]] std::uintptr_t* second,
                     std::uint32_t most, UnwindEnd* end) {
  *end = {};
#if defined(__x86_64__)
  if (!GetSettings().libgcc_unwinder) {
    bool trusted = false;
    const std::uint32_t count = UnwindFast(addresses, most, end, &trusted);
    if (trusted && !end->early) {
      return count;
    }
    // A separate stack (coroutines) or a form that the fast path does not know.
    UnwindEnd other_end;
    const std::uint32_t other = UnwindWithLibgcc(second, most, &other_end);
    if (other <= count) {
      return count;
    }
    for (std::uint32_t i = 0; i < other; ++i) {
      addresses[i] = second[i];
    }
    *end = other_end;
    return other;
  }
#endif
  return UnwindWithLibgcc(addresses, most, end);
}

}  // namespace memtool::capture
