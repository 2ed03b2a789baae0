// Which frames a person can change. FrameMode::kApp hides the others, so that memory is attributed
// to the code that asked for it and not to the allocator or to __call__.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/origin.h"
#include "memtool/profile/select/frame_rules.h"

namespace memtool {

enum class FrameMode : std::uint8_t {
  kApp,     // hide unwinder, allocator, runtime and framework frames
  kPython,  // hide frames that are not Python
  kAll,
};

// In a stack with a Python frame, native frames are never kept. FrameMode::kApp keeps the first of
// these classes that the stack has: app, installed, framework, python; in a stack without one: app,
// op, call, telling; else all frames.
struct FrameClass {
  bool app = true;
  bool python = false;
  bool installed = false;  // Python of an installed package that no rule names
  bool framework = false;  // Python that a rule names
  bool op = false;         // native code that names an operation: "DivBackward0::apply"
  bool call = false;       // an operation's entry, called by the framework itself: "sum_dim::call"
  bool informative = false;  // hidden native code whose name says what the memory is for
  bool wrapper = false;      // a hidden frame that does not say which call it was
};

// Rules ready to use, from any thread.
class FrameClassifier {
 public:
  // Errors: kUsage for what is not a regular expression, kLimit for too many of them, with the name
  // of the group.
  static Result<FrameClassifier> Compile(const FrameRules& rules);
  // Of BuiltinFrameRules().
  static const FrameClassifier& Builtin();
  FrameClassifier(FrameClassifier&&) noexcept;
  FrameClassifier& operator=(FrameClassifier&&) noexcept;
  ~FrameClassifier();

  // `origin`: that of the recording; each writer has its own way of leaving out files.
  [[nodiscard]] FrameClass Classify(std::string_view function, std::string_view file,
                                    const Origin& origin = {}) const;

 private:
  struct Compiled;
  FrameClassifier();
  std::unique_ptr<const Compiled> compiled_;
};

// True for the file of a Python frame.
bool IsPythonFile(std::string_view file);

}  // namespace memtool
