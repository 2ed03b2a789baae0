#include "stacks/python.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/fixed_table.h"
#include "base/settings.h"
#include "objects/elf_image.h"

namespace memtool::capture {

namespace {

// Offsets in bytes, worked out with offsetof from the headers of each version.
struct Layout {
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

constexpr Layout kLayouts[] = {
    {9, 24, -1, 24, 32, 104, 0, 0, 112, 104, 40, 120, 0, 48, 72, 176},
    {10, 24, -1, 24, 32, 96, 0, 0, 112, 104, 40, 120, 0, 48, 72, 176},
    {11, 56, 8, 48, 32, 56, 69, 68, 128, 112, 72, 136, 184, 48, 72, 152},
    {12, 56, 0, 8, 0, 56, 70, 0, 128, 112, 68, 136, 192, 40, 56, 0},
    {13, 72, -1, 8, 0, 56, 70, 0, 128, 112, 68, 136, 200, 40, 56, 0},
};
constexpr unsigned kOwnedByCStack = 3;  // 3.12 on: a frame that stands for a call from C
constexpr std::size_t kTypeAt = 8;
constexpr std::size_t kSizeAt = 16;  // length of a str, size of a bytes
constexpr std::size_t kStateAt = 32;
constexpr std::size_t kBytesData = 32;

using GetThreadState = void* (*)();
using YesNo = int (*)();
using Ident = unsigned long (*)();
using Object = void* (*)();
using FromObject = void* (*)(void*);
using OnObject = void (*)(void*);

struct Interpreter {
  const Layout* layout = nullptr;
  GetThreadState this_thread = nullptr;
  GetThreadState current = nullptr;
  YesNo check = nullptr;
  Ident ident = nullptr;
  std::uintptr_t code_type = 0;
  std::uint32_t version = 0;
};

Lock g_look;
Interpreter g_python;
std::atomic<wire::PythonState> g_state{wire::PythonState::kNone};
std::atomic<bool> g_on{false};

template <class T>
T Read(std::uintptr_t at) {
  T value{};
  memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

// A read that fails instead of crashing, for the first walk.
template <class T>
bool TryRead(std::uintptr_t at, T* value) {
  const iovec local{value, sizeof *value};
  const iovec remote{reinterpret_cast<void*>(at), sizeof *value};
  return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) ==
         static_cast<long>(sizeof *value);
}

std::uint32_t Position(const Layout& layout, std::uintptr_t frame, std::uintptr_t code) {
  if (layout.minor >= 11) {
    const auto at = Read<std::uintptr_t>(frame + layout.position);
    const std::uintptr_t begin = code + layout.instructions;
    return at < begin ? 0 : static_cast<std::uint32_t>(at - begin) + 1;
  }
  const auto last = Read<std::int32_t>(frame + layout.position);
  return last < 0 ? 0 : static_cast<std::uint32_t>(last) * (layout.minor == 10 ? 2 : 1) + 1;
}

bool IsCStack(const Layout& layout, std::uintptr_t frame) {
  return layout.minor >= 12 && Read<std::uint8_t>(frame + layout.owner) == kOwnedByCStack;
}

bool IsEntry(const Layout& layout, std::uintptr_t frame, std::uintptr_t previous) {
  if (layout.minor <= 10) {
    return true;
  }
  if (layout.minor == 11) {
    return Read<std::uint8_t>(frame + layout.entry) != 0;
  }
  return previous == 0 || IsCStack(layout, previous);
}

std::uintptr_t Head(const Layout& layout, std::uintptr_t thread) {
  const auto head = Read<std::uintptr_t>(thread + layout.head);
  return layout.head_indirect < 0 || head == 0
             ? head
             : Read<std::uintptr_t>(head + static_cast<std::uintptr_t>(layout.head_indirect));
}

// The chain once more with reads that cannot crash: every frame must own a code object.
bool ChainIsSound(const Layout& layout, std::uintptr_t thread) {
  std::uintptr_t frame = 0;
  if (!TryRead(thread + layout.head, &frame)) {
    return false;
  }
  if (layout.head_indirect >= 0 &&
      !TryRead(frame + static_cast<std::uintptr_t>(layout.head_indirect), &frame)) {
    return false;
  }
  for (int depth = 0; frame != 0 && depth < 1000; ++depth) {
    std::uintptr_t code = 0;
    std::uintptr_t type = 0;
    std::uint8_t owner = 0;
    if (layout.minor >= 12 && !TryRead(frame + layout.owner, &owner)) {
      return false;
    }
    if (owner != kOwnedByCStack &&
        (!TryRead(frame + layout.code, &code) || !TryRead(code + kTypeAt, &type) ||
         type != g_python.code_type)) {
      return false;
    }
    if (!TryRead(frame + layout.previous, &frame)) {
      return false;
    }
  }
  return true;
}

// Compares the public API's chain with ours. The interpreter's lock must be held.
bool AgreesWithApi(const PyFrame* frames, std::uint32_t count) {
  const auto current = reinterpret_cast<Object>(FindSymbolAnywhere("PyEval_GetFrame", nullptr));
  const auto code_of = reinterpret_cast<FromObject>(FindSymbolAnywhere("PyFrame_GetCode", nullptr));
  const auto back_of = reinterpret_cast<FromObject>(FindSymbolAnywhere("PyFrame_GetBack", nullptr));
  const auto drop = reinterpret_cast<OnObject>(FindSymbolAnywhere("Py_DecRef", nullptr));
  if (current == nullptr || code_of == nullptr || back_of == nullptr || drop == nullptr) {
    return false;
  }
  void* frame = current();  // borrowed
  std::uint32_t row = 0;
  bool same = true;
  for (bool owned = false; frame != nullptr && row < count && same; owned = true, ++row) {
    void* code = code_of(frame);
    same = reinterpret_cast<std::uintptr_t>(code) == frames[row].code;
    drop(code);
    void* back = back_of(frame);
    if (owned) {
      drop(frame);
    }
    frame = back;
  }
  if (frame != nullptr && row > 0) {
    drop(frame);
  }
  return same && (row == count);
}

std::uint32_t WalkFrames(std::uintptr_t thread, PyFrame* frames, std::uint32_t most, bool* cut) {
  const Layout& layout = *g_python.layout;
  std::uint32_t count = 0;
  for (std::uintptr_t frame = Head(layout, thread); frame != 0;) {
    const auto previous = Read<std::uintptr_t>(frame + layout.previous);
    if (!IsCStack(layout, frame)) {
      const auto code = Read<std::uintptr_t>(frame + layout.code);
      if (Read<std::uintptr_t>(code + kTypeAt) != g_python.code_type) {
        return count;
      }
      if (count == most) {
        *cut = true;
        return count;
      }
      frames[count++] = {code, Position(layout, frame, code),
                         IsEntry(layout, frame, previous) ? wire::kPyEntry : 0U};
    }
    frame = previous;
  }
  return count;
}

// To 3.11 the API knows one state per thread, that of the first interpreter that it was in; later
// versions follow the thread into sub-interpreters.
struct CallingThread {
  std::uintptr_t thread = 0;  // its PyThreadState, 0 = none
  bool holds_lock = false;
  bool unknown = false;  // it may be in any of several interpreters
};

CallingThread FindCallingThread() {
  CallingThread self{.thread = reinterpret_cast<std::uintptr_t>(g_python.this_thread())};
  const auto current = g_python.current == nullptr
                           ? std::uintptr_t{0}
                           : reinterpret_cast<std::uintptr_t>(g_python.current());
  self.holds_lock = current != 0 && current == self.thread;
  if (self.holds_lock || self.thread == 0 || g_python.layout->minor > 11) {
    return self;
  }
  // `current` is then the state of the thread that holds the lock, whichever that is. The check
  // returns true for a thread without the lock once there has been a sub-interpreter, and only
  // then.
  if (g_python.check == nullptr || g_python.ident == nullptr || g_python.check() == 0) {
    return self;
  }
  unsigned long holder = 0;
  self.unknown = true;
  if (current != 0 && TryRead(current + g_python.layout->thread_id, &holder) &&
      holder == g_python.ident()) {
    self.thread = current;
    self.unknown = false;  // the API still cannot be asked: for it the other state holds the lock
  }
  return self;
}

// The first walk of a thread with frames decides whether it is safe; the first of a thread that
// holds the lock, whether it is right.
void SelfTest(const CallingThread& self) {
  static std::atomic<bool> sound{false};
  if (!sound.load(std::memory_order_relaxed)) {
    if (!ChainIsSound(*g_python.layout, self.thread)) {
      g_state.store(wire::PythonState::kSelfTest);
      g_on.store(false);
      return;
    }
    sound.store(Head(*g_python.layout, self.thread) != 0, std::memory_order_relaxed);
  }
  if (!self.holds_lock) {
    return;
  }
  PyFrame frames[64];
  bool cut = false;
  const std::uint32_t count = WalkFrames(self.thread, frames, 64, &cut);
  if (count == 0) {
    return;
  }
  const bool agrees = AgreesWithApi(frames, count);
  g_state.store(agrees ? wire::PythonState::kOn : wire::PythonState::kSelfTest);
  g_on.store(agrees);
}

// "3.11.7 (main, …": 0x30b, or 0.
std::uint32_t ParseVersion(const char* text) {
  unsigned parts[2] = {0, 0};
  for (unsigned& part : parts) {
    for (; *text >= '0' && *text <= '9'; ++text) {
      part = part * 10 + static_cast<unsigned>(*text - '0');
    }
    text += *text == '.' ? 1 : 0;
  }
  return parts[0] << 8U | (parts[1] & 0xffU);
}

}  // namespace

std::uint64_t PyCodeKey::Hash() const {
  return Mix(Mix(Mix(Mix(Mix(7, code), name), file), lines), first_line);
}

void Python::Look() {
  const LockGuard guard(g_look);
  if (g_python.this_thread != nullptr || !GetSettings().python_stacks) {
    if (!GetSettings().python_stacks) {
      g_state.store(wire::PythonState::kOff);
    }
    return;
  }
  const auto this_thread = reinterpret_cast<GetThreadState>(
      FindSymbolAnywhere("PyGILState_GetThisThreadState", nullptr));
  const auto version =
      reinterpret_cast<const char* (*)()>(FindSymbolAnywhere("Py_GetVersion", nullptr));
  if (this_thread == nullptr || version == nullptr) {
    return;
  }
  const char* text = version();
  g_python.version = ParseVersion(text);
  for (const char* name : {"PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet"}) {
    if (g_python.current == nullptr) {
      g_python.current = reinterpret_cast<GetThreadState>(FindSymbolAnywhere(name, nullptr));
    }
  }
  g_python.check = reinterpret_cast<YesNo>(FindSymbolAnywhere("PyGILState_Check", nullptr));
  g_python.ident =
      reinterpret_cast<Ident>(FindSymbolAnywhere("PyThread_get_thread_ident", nullptr));
  g_python.code_type = reinterpret_cast<std::uintptr_t>(FindSymbolAnywhere("PyCode_Type", nullptr));
  for (const Layout& layout : kLayouts) {
    if (g_python.version == (3U << 8U | layout.minor) && sizeof(void*) == 8) {
      g_python.layout = &layout;
    }
  }
  g_python.this_thread = this_thread;
  const bool known = g_python.layout != nullptr && g_python.code_type != 0 &&
                     strstr(text, "free-threading") == nullptr;
  g_state.store(known ? wire::PythonState::kUnverified : wire::PythonState::kUnsupported);
  g_on.store(known);
}

Lock& Python::LookLock() {
  return g_look;
}

std::uint32_t Python::Walk(PyFrame* frames, std::uint32_t most, PythonEnd* end) {
  if (!g_on.load(std::memory_order_relaxed)) {
    return 0;
  }
  const CallingThread self = FindCallingThread();
  end->unknown = self.unknown;
  if (self.thread == 0 || self.unknown) {
    return 0;
  }
  if (g_state.load(std::memory_order_relaxed) == wire::PythonState::kUnverified) {
    SelfTest(self);
    if (!g_on.load(std::memory_order_relaxed)) {
      return 0;
    }
  }
  return WalkFrames(self.thread, frames, most, &end->cut);
}

PyCodeKey Python::GetKey(std::uintptr_t code) {
  const Layout& layout = *g_python.layout;
  return {.code = code,
          .name = Read<std::uintptr_t>(code + layout.name),
          .file = Read<std::uintptr_t>(code + layout.file),
          .lines = Read<std::uintptr_t>(code + layout.lines),
          .first_line = static_cast<std::uint64_t>(Read<std::uint32_t>(code + layout.first_line))};
}

namespace {

std::size_t PutUtf8(std::uint32_t point, char* to, std::size_t room) {
  const auto put = [to](std::size_t at, std::uint32_t byte) { to[at] = static_cast<char>(byte); };
  const std::size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  if (size > room) {
    return 0;
  }
  if (size == 1) {
    put(0, point);
    return size;
  }
  constexpr std::uint32_t kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (std::size_t i = size; i-- > 1;) {
    put(i, 0x80U | (point & 0x3fU));
    point >>= 6U;
  }
  put(0, kLead[size] | point);
  return size;
}

}  // namespace

std::size_t Python::CopyUnicode(std::uint64_t object, char* to, std::size_t most) {
  const Layout& layout = *g_python.layout;
  if (object == 0) {
    return 0;
  }
  const auto length = static_cast<std::size_t>(Read<std::int64_t>(object + kSizeAt));
  const auto state = Read<std::uint32_t>(object + kStateAt);
  const unsigned kind = state >> 2U & 7U;
  const bool compact = (state >> 5U & 1U) != 0;
  const bool ascii = (state >> 6U & 1U) != 0;
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) {
    return 0;
  }
  const std::uintptr_t data = object + (ascii ? layout.ascii_data : layout.other_data);
  std::size_t size = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint32_t point = kind == 1   ? Read<std::uint8_t>(data + i)
                                : kind == 2 ? Read<std::uint16_t>(data + 2 * i)
                                            : Read<std::uint32_t>(data + 4 * i);
    const std::size_t put = PutUtf8(point, to + size, most - size);
    if (put == 0) {
      break;
    }
    size += put;
  }
  return size;
}

std::size_t Python::CopyLines(const PyCodeKey& key, char* to, std::size_t most) {
  if (key.lines == 0) {
    return 0;
  }
  const auto size = static_cast<std::size_t>(Read<std::int64_t>(key.lines + kSizeAt));
  if (size > most) {
    return 0;
  }
  memcpy(to, reinterpret_cast<const void*>(key.lines + kBytesData), size);
  return size;
}

wire::PythonState Python::State() {
  return g_state.load(std::memory_order_relaxed);
}

std::uint32_t Python::Version() {
  return g_python.version;
}

}  // namespace memtool::capture
