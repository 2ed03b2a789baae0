// Stacks of the log: captured outside of its lock, interned inside.
#pragma once

#include <cstdint>

#include "python.h"
#include "settings.h"
#include "sink.h"

namespace memtool::capture {

// A stack as it was found, before it has an id. The arrays are not cleared: only their counted
// parts are ever read.
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
  std::uintptr_t second[kMaxDepth];  // what another unwinder found, to be compared
  PyFrame python[kMaxDepth];
};

// The calling thread's stack, captured. It lies in one of a fixed number of buffers, because a
// thread's own stack may be as small as 16 KiB. With so many threads at it that there is none left,
// the stack is missing.
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

// Under the log's lock: the id of the stack, 0 for none. Writes what the log does not define yet;
// *folded when a table was full, or there was no buffer, and the stack was cut or left out.
std::uint32_t InternStack(const RawStack& stack, Sink& sink, std::int64_t now, bool* folded);

// Around fork(), behind the log's lock: no other thread is in the middle of a look at the loaded
// objects, or in the linker on the shim's behalf.
void HoldStacks();
void ReleaseStacks();    // in the parent
void ResetStackLocks();  // in a child, also in one whose parent did not hold them

// In a forked child: the new log defines everything anew.
void ForgetStacks();

}  // namespace memtool::capture
