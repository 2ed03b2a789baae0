// Python frames of the calling thread, read from the interpreter's structures without its lock:
// while the thread is inside a C function its frames cannot change, and they own their code
// objects. CPython 3.9 to 3.13; anything else is off, and the log's header says why.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "wire.h"

namespace memtool::capture {

struct PyFrame {
  std::uintptr_t code;
  std::uint32_t position;  // offset of the instruction in bytes, + 1; 0 = not started
  std::uint32_t flags;     // wire::kPyEntry
};

// Identifies a code object, to tell it from a later one at the same address.
struct PyCodeKey {
  std::uint64_t code = 0;
  std::uint64_t name = 0;
  std::uint64_t file = 0;
  std::uint64_t lines = 0;
  std::uint64_t first_line = 0;
  friend bool operator==(const PyCodeKey&, const PyCodeKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const;
};

struct PythonEnd {
  bool cut = false;  // there were more than was asked for
  // There may be some, but which of several interpreters the thread is in cannot be told (to 3.11,
  // without the interpreter's lock).
  bool unknown = false;
};

class Python {
 public:
  // Looks for an interpreter; cheap once one was found. To be called after objects were loaded.
  static void Look();
  static Lock& LookLock();  // around fork()
  // Innermost first; 0 when there is none.
  static std::uint32_t Walk(PyFrame* frames, std::uint32_t most, PythonEnd* end);
  static PyCodeKey GetKey(std::uintptr_t code);
  // UTF-8, cut to fit; returns the bytes.
  static std::size_t CopyUnicode(std::uint64_t object, char* to, std::size_t most);
  // The undecoded line table; 0 when it is longer than `most`.
  static std::size_t CopyLines(const PyCodeKey& key, char* to, std::size_t most);
  static wire::PythonState State();
  static std::uint32_t Version();  // major << 8 | minor
};

}  // namespace memtool::capture
