// The calling thread's stack, as it is found: native return addresses and Python frames, before
// they have ids. Captured without the log's lock.
#pragma once

#include <cstdint>

#include "base/settings.h"
#include "stacks/python.h"

namespace memtool::capture {

// The arrays are not cleared: only their counted parts are ever read.
struct RawStack {  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::uint64_t hash = 0;
  std::uint32_t objects = 0;  // the version of the loaded objects
  std::uint32_t native_count = 0;
  std::uint32_t python_count = 0;
  bool ended_early = false;
  bool cut = false;             // deeper than the setting
  bool python_unknown = false;  // see Python::Walk
  bool missing = false;         // there was no buffer
  std::uintptr_t native[kMaxDepth];
  PyFrame python[kMaxDepth];
};

// The calling thread's stack, captured into one of a fixed number of buffers, because a thread's
// own stack may be as small as 16 KiB. When more threads than that capture at a time, the stack is
// missing.
class CapturedStack {
 public:
  explicit CapturedStack(bool wanted = true);
  ~CapturedStack();
  CapturedStack(const CapturedStack&) = delete;
  CapturedStack& operator=(const CapturedStack&) = delete;
  const RawStack& operator*() const { return *stack_; }

 private:
  RawStack* stack_;
};

// Around fork(), with the log's lock held: no other thread is then looking at the loaded objects,
// or in the linker on the shim's behalf.
void LockStacks();
void UnlockStacks();     // in the parent
void ResetStackLocks();  // in a child, even if its parent did not hold them

// In a forked child: the threads that held buffers are gone.
void ResetStackBuffers();

}  // namespace memtool::capture
