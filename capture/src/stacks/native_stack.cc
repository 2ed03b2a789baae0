#include "stacks/native_stack.h"

#include <pthread.h>
#include <ucontext.h>

#include <atomic>
#include <bit>
#include <cstddef>

#include "base/lock.h"
#include "base/pages.h"
#include "base/thread_state.h"
#include "objects/elf_image.h"
#include "objects/object_table.h"
#include "stacks/cfi.h"

namespace memtool::capture {

namespace {

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

// The stack that is walked, from the stack pointer up. The bounds of the thread's own are known;
// another one (a coroutine's, a signal handler's) is taken to go on for as long as its pages can be
// read without a gap.
class Stack {
 public:
  explicit Stack(std::uintptr_t sp) { MoveTo(sp); }

  void MoveTo(std::uintptr_t sp) {
    low_ = sp;
    own_ = sp >= t_state.stack_low && sp < t_state.stack_high;
    high_ = own_ ? t_state.stack_high & ~std::uintptr_t{7} : sp & ~(kMinPage - 1);
  }
  // To the frame of the caller.
  bool PopTo(std::uintptr_t sp) {
    if (sp <= low_ || sp % 8 != 0) {
      return false;
    }
    low_ = sp;
    return true;
  }
  bool Read(std::uintptr_t at, std::uintptr_t* value) {
    if (at >= high_ && !own_) {
      high_ = HighFor(high_, at);
    }
    if (at < low_ || at >= high_ || at % 8 != 0) {
      return false;
    }
    *value = *reinterpret_cast<const std::uintptr_t*>(at);
    return true;
  }
  [[nodiscard]] std::uintptr_t pointer() const { return low_; }

 private:
  // The end of the pages from `high` on that can be read, no further than `at` needs.
  static __attribute__((noinline)) std::uintptr_t HighFor(std::uintptr_t high, std::uintptr_t at) {
    constexpr std::uintptr_t kMaxFrame = std::uintptr_t{1} << 20U;
    while (high <= at && at - high <= kMaxFrame && CanRead(high)) {
      high += kMinPage;
    }
    return high;
  }

  std::uintptr_t low_ = 0;
  std::uintptr_t high_ = 0;
  bool own_ = false;
};

enum class Step : std::uint8_t { kDone, kEnd, kNoRule };

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

struct Search {
  std::uintptr_t address = 0;
  FrameRule rule;
};

// With the objects' lock held, as when clearing.
void Store(const Object* object, std::uintptr_t before, void* data) {
  auto& search = *static_cast<Search*>(data);
  search.rule = object == nullptr ? FrameRule{} : FindRule(*object, before);
  Slot& slot = FindSlot(search.address);
  slot.address.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.rule.store(std::bit_cast<std::uint64_t>(search.rule), std::memory_order_relaxed);
  slot.address.store(search.address, std::memory_order_release);
}

// A return address may be the first byte after its function (a call that never returns).
__attribute__((noinline)) FrameRule FindAndStore(std::uintptr_t address) {
  Search search{address, {}};
  Objects::LookAt(address - 1, Store, &search);
  return search.rule;
}

inline FrameRule RuleAt(std::uintptr_t address) {
  const Slot& slot = FindSlot(address);
  if (slot.address.load(std::memory_order_acquire) == address) {
    const std::uint64_t rule = slot.rule.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.address.load(std::memory_order_relaxed) == address) {
      return std::bit_cast<FrameRule>(rule);
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

struct Registers {
  std::uintptr_t ip;
  std::uintptr_t bp;
};

// Out of a signal handler, by what the kernel saved beside it. The stack may be another.
Step StepOutOfSignal(Stack& stack, Registers& at) {
  constexpr std::size_t kSaved = offsetof(ucontext_t, uc_mcontext.gregs);
  const std::uintptr_t saved = stack.pointer() + kSaved;
  std::uintptr_t sp = 0;
  if (!stack.Read(saved + REG_RBP * 8, &at.bp) || !stack.Read(saved + REG_RIP * 8, &at.ip) ||
      !stack.Read(saved + REG_RSP * 8, &sp)) {
    return Step::kNoRule;
  }
  ++at.ip;  // what was interrupted did not call: the address is not one past an instruction
  stack.MoveTo(sp);
  return Step::kDone;
}

// Steps to the caller.
__attribute__((always_inline)) inline Step StepOut(Stack& stack, Registers& at) {
  const FrameRule rule = RuleAt(at.ip);
  if (rule.kind != FrameRule::Kind::kStep) {
    return rule.kind == FrameRule::Kind::kSignal      ? StepOutOfSignal(stack, at)
           : rule.kind == FrameRule::Kind::kOutermost ? Step::kEnd
                                                      : Step::kNoRule;
  }
  const auto has = [rule](FrameRule::How how) { return (rule.how & how) != 0; };
  const auto plus = [](std::uintptr_t base, std::intptr_t offset) {
    return base + static_cast<std::uintptr_t>(offset);
  };
  std::uintptr_t cfa =
      plus(has(FrameRule::kFromFramePointer) ? at.bp : stack.pointer(), rule.cfa_offset);
  if (has(FrameRule::kCfaStored) && !stack.Read(cfa, &cfa)) {
    return Step::kNoRule;
  }
  if (has(FrameRule::kFramePointerSaved) &&
      !stack.Read(
          plus(has(FrameRule::kSavedFromItself) ? at.bp : cfa, std::intptr_t{rule.saved_words} * 8),
          &at.bp)) {
    return Step::kNoRule;
  }
  if (!stack.Read(cfa - 8, &at.ip) || !stack.PopTo(cfa)) {
    return Step::kNoRule;
  }
  return at.ip == 0 ? Step::kEnd : Step::kDone;
}

#else

// --- AArch64: every function that calls keeps a record {caller's frame pointer, return address}
// that the frame pointer points at.

void ForgetAfterChange() {}

struct Registers {
  std::uintptr_t ip;
  std::uintptr_t bp;
};

// What pointer authentication put into a return address.
std::uintptr_t WithoutSignature(std::uintptr_t address) {
  register std::uintptr_t link __asm__("x30") = address;
  __asm__("hint #7" : "+r"(link));  // xpaclri
  return link;
}

Step StepOut(Stack& stack, Registers& at) {
  const std::uintptr_t record = at.bp;
  if (record == 0) {
    return Step::kEnd;
  }
  if (!stack.Read(record, &at.bp) || !stack.Read(record + 8, &at.ip) || !stack.PopTo(record + 16)) {
    return Step::kNoRule;
  }
  at.ip = WithoutSignature(at.ip);
  return at.ip == 0 ? Step::kEnd : Step::kDone;
}

#endif

// Walks to the outermost frame.
std::uint32_t Walk(Stack stack, Registers at, std::uintptr_t* addresses, std::uint32_t most,
                   UnwindEnd* end) {
  std::uint32_t count = 0;
  std::uint32_t own = 32;  // frames of the shim: signal frames could lead back to them for ever
  for (;;) {
    const Step step = StepOut(stack, at);
    if (step != Step::kDone) {
      end->early = step == Step::kNoRule;
      return count;
    }
    if (count == 0 && own > 0 && InShim(at.ip)) {
      --own;
      continue;
    }
    if (count == most) {
      end->cut = true;
      return count;
    }
    addresses[count++] = at.ip;
  }
}

}  // namespace

__attribute__((noinline)) std::uint32_t Unwind(std::uintptr_t* addresses, std::uint32_t most,
                                               UnwindEnd* end) {
  *end = {};
  if (t_state.stack_high == 0) {
    FindStackBounds();
  }
  ForgetAfterChange();
  Registers at{};
  std::uintptr_t sp = 0;
#if defined(__x86_64__)
  // The address after the lea is one past an instruction of this function, as return addresses are.
  __asm__ volatile("lea 1f(%%rip), %0\n1:\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                   : "=r"(at.ip), "=r"(sp), "=r"(at.bp));
#else
  __asm__ volatile("mov %0, sp\n\tmov %1, x29" : "=r"(sp), "=r"(at.bp));
#endif
  return Walk(Stack(sp), at, addresses, most, end);
}

}  // namespace memtool::capture
