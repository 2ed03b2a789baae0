// Which frames a mode shows: classes once per function, choices once per stack.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/select/view.h"
#include "select/compiled_filter.h"

namespace memtool {

void View::ClassifyLines() {
  if (filter_.options.frames == FrameMode::kAll) {
    return;
  }
  const FrameClassifier& classifier =
      filter_.classifier ? *filter_.classifier : FrameClassifier::Builtin();
  std::vector<FrameClass> by_function;
  by_function.reserve(recording_.functions.size());
  for (const Function& function : recording_.functions) {
    const std::string_view file = recording_.Text(function.filename);
    // A scope is the user's own word, even when some code has the same name.
    const bool scope = recording_.metadata.frames_are_scopes && file.empty();
    by_function.push_back(scope ? FrameClass{}
                                : classifier.Classify(recording_.Text(function.name), file,
                                                      recording_.metadata.origin));
  }
  // Next to Python, native code without a name belongs to some runtime.
  const bool has_python = std::any_of(by_function.begin(), by_function.end(),
                                      [](const FrameClass& function) { return function.python; });
  line_class_.reserve(recording_.lines.size());
  for (const Line& line : recording_.lines) {
    line_class_.push_back(line.function.valid() ? by_function[line.function.value()]
                                                : FrameClass{.app = !has_python, .python = false});
  }
}

// Leaves the frames that the mode shows; all where it would show none.
void View::KeepMode(VisibleStack& out) const {
  const bool python = std::any_of(out.lines.begin(), out.lines.end(),
                                  [this](std::uint32_t line) { return line_class_[line].python; });
  const bool app = filter_.options.frames == FrameMode::kApp;
  using Class = bool FrameClass::*;
  constexpr std::array<Class, 4> kPython{&FrameClass::app, &FrameClass::installed,
                                         &FrameClass::framework, &FrameClass::python};
  constexpr std::array<Class, 4> kNative{&FrameClass::app, &FrameClass::op, &FrameClass::call,
                                         &FrameClass::telling};
  for (const Class kept : std::span(python ? kPython : kNative).subspan(app ? 0 : python ? 3 : 1)) {
    if (KeepClass(kept, python, out)) {
      return;
    }
  }
}

// Leaves only the frames of a class, unless that would leave none.
bool View::KeepClass(bool FrameClass::*kept, bool python, VisibleStack& out) const {
  std::vector<std::uint32_t>& lines = out.lines;
  std::size_t first = 0;
  const auto keeps = [this, kept, python](std::uint32_t line) {
    const FrameClass& of = line_class_[line];
    return of.*kept && of.python == python;
  };
  while (first < lines.size() && !keeps(lines[first])) {
    ++first;
  }
  if (first == lines.size()) {
    return false;
  }
  if (first > 0) {
    // The call into the framework; wrappers that every call goes through say nothing.
    std::size_t via = first - 1;
    while (via > 0 && line_class_[lines[via]].wrapper) {
      --via;
    }
    if (!line_class_[lines[via]].wrapper) {
      out.via = LineId(lines[via]);
    }
  }
  std::size_t to = 0;
  for (std::size_t from = first; from < lines.size(); ++from) {
    const std::uint32_t line = lines[from];
    lines[to] = line;
    to += keeps(line) ? 1 : 0;
  }
  lines.resize(to);
  return true;
}

}  // namespace memtool
