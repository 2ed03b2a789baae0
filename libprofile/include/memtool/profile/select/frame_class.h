// Which frames a person can change. FrameMode::kApp hides the others, so that memory falls to the
// code that asked for it and not to the allocator or to __call__.
#pragma once

#include <cstdint>
#include <string_view>

namespace memtool {

enum class FrameMode : std::uint8_t {
  kApp,     // hide unwinder, allocator, runtime and framework frames
  kPython,  // hide frames that are not Python
  kAll,
};

// Kept when they are what remains: app, else python, else op, else call, else all frames of a
// stack.
struct FrameClass {
  bool app = true;
  bool python = false;
  bool op = false;       // native code that names an operation: "DivBackward0::apply"
  bool call = false;     // an operation's entry, called by the framework itself: "sum_dim::call"
  bool wrapper = false;  // a hidden frame that every call of its framework passes through
};

// The rules are one list, in frame_class.cc.
FrameClass ClassifyFrame(std::string_view function, std::string_view file);

}  // namespace memtool
