// Which frames a mode shows: classes once per text, choices once per stack.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/select/frame_class.h"
#include "memtool/profile/select/view.h"
#include "select/compiled_filter.h"

namespace memtool {
namespace {

// FrameClass as bits, so that a stack is looked at once. What a Python frame is stands in the lower
// half, what a native one is in the upper: kApp of Python, Native(kApp).
constexpr std::uint8_t kApp = 1U << 0U;
constexpr std::uint8_t kPython = 1U << 1U;
constexpr std::uint8_t kInstalled = 1U << 2U;
constexpr std::uint8_t kFramework = 1U << 3U;
constexpr std::uint8_t kOp = 1U << 4U;
constexpr std::uint8_t kCall = 1U << 5U;
constexpr std::uint8_t kInformative = 1U << 6U;
constexpr std::uint8_t kWrapper = 1U << 7U;

constexpr std::uint16_t Native(std::uint8_t bits) {
  return static_cast<std::uint16_t>(bits << 8U);
}
constexpr std::uint16_t kAnyWrapper = Native(kWrapper) | kWrapper;

std::uint16_t Bits(const FrameClass& of) {
  const std::array<std::pair<bool, std::uint8_t>, 8> flags{{{of.app, kApp},
                                                            {of.python, kPython},
                                                            {of.installed, kInstalled},
                                                            {of.framework, kFramework},
                                                            {of.op, kOp},
                                                            {of.call, kCall},
                                                            {of.informative, kInformative},
                                                            {of.wrapper, kWrapper}}};
  std::uint8_t bits = 0;
  for (const auto& [set, bit] : flags) {
    bits = set ? bits | bit : bits;
  }
  return of.python ? bits : Native(bits);
}

}  // namespace

void View::ClassifyLines() {
  if (filter_.options.frames == FrameMode::kAll) {
    return;
  }
  const FrameClassifier& classifier =
      filter_.classifier ? *filter_.classifier : FrameClassifier::Builtin();
  std::vector<FrameClass> by_function;
  by_function.reserve(recording_.functions.size());
  FrameClasses classes(classifier, recording_);
  for (const Function& function : recording_.functions) {
    // A scope is the user's own word, even when some code has the same name.
    const bool scope =
        recording_.metadata.frames_are_scopes && recording_.Text(function.filename).empty();
    by_function.push_back(scope ? FrameClass{} : classes(function));
  }
  // Next to Python, native code without a name belongs to some runtime.
  has_python_ = std::any_of(by_function.begin(), by_function.end(),
                            [](const FrameClass& function) { return function.python; });
  line_class_.reserve(recording_.lines.size());
  for (const Line& line : recording_.lines) {
    line_class_.push_back(Bits(line.function.valid()
                                   ? by_function[line.function.value()]
                                   : FrameClass{.app = !has_python_, .python = false}));
  }
}

// Leaves the frames that the mode shows; all where it would show none.
void View::KeepMode(unsigned any, VisibleStack& out) const {
  const bool python = has_python_ && (any & kPython) != 0;
  const bool app = filter_.options.frames == FrameMode::kApp;
  constexpr std::array<std::uint16_t, 4> kOfPython{kApp, kInstalled, kFramework, kPython};
  constexpr std::array<std::uint16_t, 4> kOfNative{Native(kApp), Native(kOp), Native(kCall),
                                                   Native(kInformative)};
  const auto order = std::span(python ? kOfPython : kOfNative).subspan(app ? 0 : python ? 3 : 1);
  for (const std::uint16_t kept : order) {
    if ((any & kept) != 0 && KeepClass(kept, out)) {
      return;
    }
  }
}

// Leaves only the frames that have this bit, unless that would leave none.
bool View::KeepClass(std::uint16_t kept, VisibleStack& out) const {
  const std::span<std::uint32_t> lines = out.lines;
  const auto keeps = [of = line_class_.data(), kept](std::uint32_t line) {
    return (of[line] & kept) != 0;
  };
  std::size_t first = 0;
  while (first < lines.size() && !keeps(lines[first])) {
    ++first;
  }
  if (first == lines.size()) {
    return false;
  }
  if (first > 0) {
    // The call into the framework; wrappers that every call goes through say nothing.
    std::size_t via = first - 1;
    while (via > 0 && (line_class_[lines[via]] & kAnyWrapper) != 0) {
      --via;
    }
    if ((line_class_[lines[via]] & kAnyWrapper) == 0) {
      out.via = LineId(lines[via]);
    }
  }
  std::size_t to = 0;
  for (std::size_t from = first; from < lines.size(); ++from) {
    const std::uint32_t line = lines[from];
    lines[to] = line;
    to += keeps(line) ? 1 : 0;
  }
  out.lines.resize(to);
  return true;
}

}  // namespace memtool
