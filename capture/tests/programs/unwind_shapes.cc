// A library of functions whose unwind rules take every form that compilers write, for
// damaged_tables.cc: each calls back from a frame of its own shape.
#include <alloca.h>

#include <csignal>
#include <cstring>

using Callback = void (*)();

namespace {

struct AtEnd {
  explicit AtEnd(Callback callback) : callback(callback) {}
  ~AtEnd() { callback(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  Callback callback;
};

Callback g_callback;

[[gnu::noinline]] void Keep(void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

// CFA = rsp + n.
[[gnu::noinline]] void Plain(Callback callback, int depth) {
  if (depth > 0) {
    Plain(callback, depth - 1);
  } else {
    callback();
  }
  asm volatile("" ::: "memory");
}

// Every register that a callee saves.
[[gnu::noinline]] void Saving(Callback callback) {
  asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
  callback();
  asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
}

// CFA = rbp + n.
[[gnu::noinline]] void Growing(Callback callback, std::size_t size) {
  void* memory = alloca(size);
  memset(memory, 0, size);
  Keep(memory);
  callback();
}

// gcc: the CFA is stored, and found by an expression.
[[gnu::noinline]] void Realigned(Callback callback, std::size_t size) {
  alignas(64) unsigned char aligned[64] = {};
  Keep(aligned);
  void* memory = alloca(size);
  Keep(memory);
  callback();
  Keep(aligned);
}

// A language-specific area and a personality.
[[gnu::noinline]] void Cleaning(Callback callback) {
  const AtEnd first(callback);
  const AtEnd second(callback);
  callback();
}

[[gnu::noinline]] void OnSignal(int /*signal*/) {
  g_callback();
}

// Through the kernel's frame, on another stack.
[[gnu::noinline]] void Signalled(Callback callback) {
  static unsigned char stack[65536];
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  g_callback = callback;
  raise(SIGUSR2);
}

}  // namespace

extern "C" void CallFromEveryShape(Callback callback) {
  Plain(callback, 3);
  Saving(callback);
  Growing(callback, 100);
  Realigned(callback, 100);
  Cleaning(callback);
  Signalled(callback);
}
