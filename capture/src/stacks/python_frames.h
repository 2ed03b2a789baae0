// Frames, code objects and strings of CPython 3.9 to 3.13, read from the interpreter's structures.
// Nothing is trusted to be what it should: a pointer is followed only to memory that can be read,
// and a chain that does not hold frames ends there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memtool::capture {

// Offsets in bytes, worked out with offsetof from the headers of each version.
struct PyLayout {
  std::uint16_t minor;
  std::uint16_t head;          // of the chain, in the thread state
  std::int16_t head_indirect;  // 3.11, 3.12: the head lies in a struct that `head` points at; or -1
  std::uint16_t previous;
  std::uint16_t code;
  std::uint16_t position;  // f_lasti, prev_instr or instr_ptr
  std::uint16_t owner;     // 3.12 on: who owns the frame
  std::uint16_t entry;     // 3.11: is_entry
  std::uint16_t name;      // in the code object: the qualified name, or the name before 3.11
  std::uint16_t file;
  std::uint16_t first_line;
  std::uint16_t lines;
  std::uint16_t instructions;  // 3.11 on: co_code_adaptive
  std::uint16_t ascii_data;    // in a string
  std::uint16_t other_data;
  std::uint16_t thread_id;  // in the thread state; to 3.11
};

// Of version 3.`minor`, or nullptr.
const PyLayout* FindPyLayout(std::uint32_t minor);

// What could be read may have gone with an object.
void ForgetPyPages();

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
  bool cut = false;    // there were more than was asked for
  bool early = false;  // what should have been the next frame is none
  // There may be some, but which of several interpreters the thread is in cannot be told (to 3.11,
  // without the interpreter's lock).
  bool unknown = false;
};

template <class T>
T Load(std::uintptr_t at) {
  T value{};
  memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

class PyReader {
 public:
  PyReader() = default;
  PyReader(const PyLayout& layout, std::uintptr_t code_type)
      : layout_(&layout), code_type_(code_type) {}

  // The frames of a thread state, innermost first.
  std::uint32_t Walk(std::uintptr_t thread, PyFrame* frames, std::uint32_t most,
                     PythonEnd* end) const;
  // The identifier of a thread state's thread; 0 where it cannot be read. To 3.11.
  [[nodiscard]] std::uint64_t ThreadId(std::uintptr_t thread) const;
  // Of a code object that Walk() found.
  [[nodiscard]] PyCodeKey Key(std::uintptr_t code) const {
    return {.code = code,
            .name = Load<std::uintptr_t>(code + layout_->name),
            .file = Load<std::uintptr_t>(code + layout_->file),
            .lines = Load<std::uintptr_t>(code + layout_->lines),
            .first_line = Load<std::uint32_t>(code + layout_->first_line)};
  }
  // UTF-8, cut to fit; returns the bytes.
  std::size_t CopyUnicode(std::uint64_t object, char* to, std::size_t most) const;
  // The undecoded line table; 0 when it is longer than `most`.
  static std::size_t CopyLines(const PyCodeKey& key, char* to, std::size_t most);

  [[nodiscard]] const PyLayout* layout() const { return layout_; }

 private:
  bool FindHead(std::uintptr_t thread, std::uintptr_t* frame) const;

  const PyLayout* layout_ = nullptr;
  std::uintptr_t code_type_ = 0;
};

}  // namespace memtool::capture
