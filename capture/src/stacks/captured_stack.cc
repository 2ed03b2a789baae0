#include "stacks/captured_stack.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "base/fixed_table.h"
#include "base/lock.h"
#include "base/pages.h"
#include "objects/object_table.h"
#include "stacks/native_stack.h"

namespace memtool::capture {

namespace {

// Threads that wait for the log's lock hold one each. Pages that were never used cost nothing.
constexpr std::size_t kBuffers = 1024;
std::atomic<RawStack*> g_buffers{nullptr};
std::atomic<std::uint64_t> g_taken[kBuffers / 64];
RawStack g_none;     // no stack wanted
RawStack g_missing;  // no buffer left

RawStack* Buffers() {
  RawStack* buffers = g_buffers.load(std::memory_order_acquire);
  if (buffers == nullptr) {
    void* pages = MapPages(kBuffers * sizeof(RawStack));
    if (pages != nullptr &&
        g_buffers.compare_exchange_strong(buffers, static_cast<RawStack*>(pages))) {
      return static_cast<RawStack*>(pages);
    }
    if (pages != nullptr) {
      munmap(pages, kBuffers * sizeof(RawStack));
    }
  }
  return buffers;
}

RawStack* TakeBuffer() {
  RawStack* buffers = Buffers();
  if (buffers == nullptr) {
    return nullptr;
  }
  for (std::size_t word = 0; word < kBuffers / 64; ++word) {
    std::uint64_t seen = g_taken[word].load(std::memory_order_relaxed);
    while (seen != ~std::uint64_t{0}) {
      const int bit = __builtin_ctzll(~seen);
      if (g_taken[word].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                              std::memory_order_acquire)) {
        return buffers + word * 64 + bit;
      }
    }
  }
  return nullptr;
}

std::atomic<std::uint32_t> g_looked{0};  // the version of the objects that was searched

// An interpreter may be loaded long after the first event.
void LookForPython(std::uint32_t version) {
  if (g_looked.load(std::memory_order_relaxed) != version &&
      g_looked.exchange(version, std::memory_order_acq_rel) != version) {
    Python::Look();
  }
}

void Capture(RawStack& stack) {
  stack.native_count = stack.python_count = 0;
  stack.ended_early = stack.cut = stack.python_unknown = false;
  const Settings& settings = GetSettings();
  // A loaded object may lie where another was, or where generated code was: the same addresses are
  // the same stack only while the table stays as it is.
  stack.objects = Objects::Refresh();
  LookForPython(stack.objects);
  if (settings.native_stacks) {
    UnwindEnd end;
    stack.native_count = Unwind(stack.native, settings.depth, &end);
    stack.ended_early = end.early;
    stack.cut = end.cut;
  }
  if (settings.python_stacks) {
    PythonEnd end;
    stack.python_count = Python::Walk(stack.python, settings.depth, &end);
    stack.python_unknown = end.unknown;
    stack.ended_early = stack.ended_early || end.early;
    stack.cut = stack.cut || end.cut;
  }
  std::uint64_t hash = Mix(11, stack.objects);
  for (std::uint32_t i = 0; i < stack.native_count; ++i) {
    hash = Mix(hash, stack.native[i]);
  }
  const PyReader& reader = Python::Reader();
  for (std::uint32_t i = 0; i < stack.python_count; ++i) {
    const PyFrame& frame = stack.python[i];
    const PyCodeKey key = reader.Key(frame.code);
    // Of one frame first: it need not wait for those before it.
    hash = Mix(hash,
               Mix(Mix(0, frame.code + frame.position), key.lines + key.first_line + frame.flags));
  }
  stack.hash = hash;
}

}  // namespace

CapturedStack::CapturedStack(bool wanted) : stack_(&g_none) {
  const Settings& settings = GetSettings();
  if (!wanted || !(settings.native_stacks || settings.python_stacks)) {
    return;
  }
  stack_ = TakeBuffer();
  if (stack_ == nullptr) {
    g_missing.missing = true;
    stack_ = &g_missing;
  } else {
    Capture(*stack_);
  }
}

CapturedStack::~CapturedStack() {
  if (stack_ != &g_none && stack_ != &g_missing) {
    const std::ptrdiff_t at = stack_ - g_buffers.load(std::memory_order_relaxed);
    g_taken[at / 64].fetch_and(~(std::uint64_t{1} << at % 64), std::memory_order_release);
  }
}

// Takes the locks in the order in which a look-up does.
void LockStacks() {
  Python::LookLock().Acquire();
  Objects::TableLock().Acquire();
  Objects::WaitForLinker();
}

void UnlockStacks() {
  Objects::TableLock().Release();
  Python::LookLock().Release();
}

void ResetStackLocks() {
  Objects::TableLock().Reset();
  Python::LookLock().Reset();
}

void ResetStackBuffers() {
  for (std::atomic<std::uint64_t>& taken : g_taken) {
    taken.store(0, std::memory_order_relaxed);
  }
}

}  // namespace memtool::capture
