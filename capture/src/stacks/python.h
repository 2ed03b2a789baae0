// Python frames of the calling thread, read from the interpreter's structures without its lock:
// while the thread is inside a C function its frames cannot change, and they own their code
// objects. CPython 3.9 to 3.13; anything else is off, and the log's header says why.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "stacks/python_frames.h"
#include "wire.h"

namespace memtool::capture {

class Python {
 public:
  // Looks for an interpreter; cheap once one was found. To be called after objects were loaded.
  static void Look();
  static Lock& LookLock();  // around fork()
  // Innermost first; 0 when there is none.
  static std::uint32_t Walk(PyFrame* frames, std::uint32_t most, PythonEnd* end);
  static const PyReader& Reader();  // of what Walk() found
  static wire::PythonState State();
  static std::uint32_t Version();  // major << 8 | minor
};

}  // namespace memtool::capture
