// Which frames a person can change. FrameMode::kApp hides the others, so that memory is attributed
// to the code that asked for it and not to the allocator or to __call__.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/origin.h"
#include "memtool/profile/model/recording.h"
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

  // What a text says by itself, so that a frame's class costs no look at its texts.
  struct Words {  // bit i: a word of layer i is in the text
    std::uint32_t own = 0;
    std::uint32_t not_own = 0;
  };
  struct FileFacts {
    Words words;
    bool empty = true;
    bool python = false;
    bool library = false;  // Python's own
    bool package = false;  // below site-packages or dist-packages
    bool start_script = false;
    bool interpreter = false;  // C code of the interpreter, or a guess ("??")
    bool of_jax = false;       // IsBareFileOfJax
  };
  struct FunctionFacts {
    Words words;
    bool empty = true;
    bool through = false;    // a framework's function that every call passes through
    bool mark = false;       // could be a mark of a trace
    bool operation = false;  // an operation of PyTorch's profiler
  };
  // Of code that is not Python; a call for each function that needs it.
  struct NativeFacts {
    bool runtime = false;      // a word of FrameRules::native is in the name
    bool static_name = false;  // IsStaticOfSnapshot
    bool operation = false;    // says more than that memory was allocated
    bool autograd_node = false;
    bool op_name = false;  // OperationName has one
    bool library_call = false;
    bool informative_call = false;
    bool says_no_more = false;
    bool jit = false;
    bool xla_runtime = false;
  };
  [[nodiscard]] FileFacts LookAtFile(std::string_view file) const;
  [[nodiscard]] FunctionFacts LookAtFunction(std::string_view function) const;
  [[nodiscard]] NativeFacts LookAtNative(std::string_view function) const;
  static bool IsPython(const FunctionFacts& function, const FileFacts& file, const Origin& origin);
  static FrameClass ClassifyPython(const FunctionFacts& function, const FileFacts& file,
                                   const Origin& origin);
  static FrameClass ClassifyNative(const FunctionFacts& function, const NativeFacts& native,
                                   const FileFacts& file, const Origin& origin);

 private:
  struct Compiled;
  FrameClassifier();
  std::unique_ptr<const Compiled> compiled_;
};

// The classes of a recording's frames; each text is looked at once. Both are kept by reference.
// What a path does not tell of a script, the recording does (select/scripts.h).
class FrameClasses {
 public:
  FrameClasses(const FrameClassifier& classifier, const Recording& recording)
      : origin_(recording.metadata.origin),
        of_file_(FileLook(classifier, recording)),
        of_function_([&](StringId id) { return classifier.LookAtFunction(recording.Text(id)); }),
        of_native_([&](StringId id) { return classifier.LookAtNative(recording.Text(id)); }) {}

  FrameClass operator()(const Function& function);

 private:
  using FileFacts = FrameClassifier::FileFacts;
  static std::function<FileFacts(StringId)> FileLook(const FrameClassifier& classifier,
                                                     const Recording& recording);

  const Origin& origin_;
  OncePerText<std::function<FileFacts(StringId)>> of_file_;
  OncePerText<std::function<FrameClassifier::FunctionFacts(StringId)>> of_function_;
  OncePerText<std::function<FrameClassifier::NativeFacts(StringId)>> of_native_;
};

// True for the file of a Python frame.
bool IsPythonFile(std::string_view file);

}  // namespace memtool
