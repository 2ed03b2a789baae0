#include "stacks/python.h"

#include <atomic>
#include <cstring>

#include "base/settings.h"
#include "objects/elf_image.h"

namespace memtool::capture {

namespace {

using GetThreadState = void* (*)();
using YesNo = int (*)();
using Ident = unsigned long (*)();
using Object = void* (*)();
using FromObject = void* (*)(void*);
using OnObject = void (*)(void*);

struct Interpreter {
  PyReader reader;
  GetThreadState this_thread = nullptr;
  GetThreadState current = nullptr;
  YesNo check = nullptr;
  Ident ident = nullptr;
  std::uint32_t version = 0;
};

Lock g_look;
Interpreter g_python;
std::atomic<wire::PythonState> g_state{wire::PythonState::kNone};
std::atomic<bool> g_on{false};

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
  if (self.holds_lock || self.thread == 0 || g_python.reader.layout()->minor > 11) {
    return self;
  }
  // `current` is then the state of the thread that holds the lock, whichever that is. The check
  // returns true for a thread without the lock once there has been a sub-interpreter, and only
  // then.
  if (g_python.check == nullptr || g_python.ident == nullptr || g_python.check() == 0) {
    return self;
  }
  self.unknown = true;
  if (current != 0 && g_python.reader.ThreadId(current) == g_python.ident()) {
    self.thread = current;
    self.unknown = false;  // the API still cannot be asked: for it the other state holds the lock
  }
  return self;
}

// The first walk of a thread with frames decides whether the layout is right; the first of a thread
// that holds the lock, whether the frames are.
void SelfTest(const CallingThread& self) {
  static std::atomic<bool> sound{false};
  if (sound.load(std::memory_order_relaxed) && !self.holds_lock) {
    return;
  }
  PyFrame frames[64];
  PythonEnd end;
  const std::uint32_t count = g_python.reader.Walk(self.thread, frames, 64, &end);
  bool agrees = !end.early;
  if (agrees && count > 0) {
    sound.store(true, std::memory_order_relaxed);
    if (self.holds_lock) {
      agrees = AgreesWithApi(frames, count);
      g_state.store(agrees ? wire::PythonState::kOn : wire::PythonState::kSelfTest);
    }
  } else if (!agrees) {
    g_state.store(wire::PythonState::kSelfTest);
  }
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

void Python::Look() {
  const LockGuard guard(g_look);
  ForgetPyPages();
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
  const auto code_type =
      reinterpret_cast<std::uintptr_t>(FindSymbolAnywhere("PyCode_Type", nullptr));
  const PyLayout* layout =
      g_python.version >> 8U == 3 ? FindPyLayout(g_python.version & 0xffU) : nullptr;
  const bool known =
      layout != nullptr && code_type != 0 && strstr(text, "free-threading") == nullptr;
  if (known) {
    g_python.reader = PyReader(*layout, code_type);
  }
  g_python.this_thread = this_thread;
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
  return g_python.reader.Walk(self.thread, frames, most, end);
}

const PyReader& Python::Reader() {
  return g_python.reader;
}

wire::PythonState Python::State() {
  return g_state.load(std::memory_order_relaxed);
}

std::uint32_t Python::Version() {
  return g_python.version;
}

}  // namespace memtool::capture
