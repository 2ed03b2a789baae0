#include "select/scripts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool {

namespace {

// pip, uv and conda write some ten lines, setuptools up to 33.
constexpr std::int64_t kLongestEntry = 40;
// What entries are called, and what calls them.
constexpr auto kEntryWords = std::to_array<std::string_view>(
    {"main", "cli", "entry", "entrypoint", "launch", "launcher", "run", "start", "app", "serve",
     "command", "console", "wrapper"});
constexpr auto kEntryFiles = std::to_array<std::string_view>(
    {"/click/", "/typer/", "/fire/", "/absl/", "/cyclopts/", "<frozen "});
// The first stacks tell; looking at all of a very large recording is not worth the time.
constexpr std::size_t kMaxFrames = 8'000'000;

// One of the words of "launch_instance".
bool IsEntry(std::string_view function) {
  while (!function.empty()) {
    const std::string_view word = function.substr(0, function.find('_'));
    if (std::find(kEntryWords.begin(), kEntryWords.end(), word) != kEntryWords.end()) {
      return true;
    }
    function.remove_prefix(std::min(word.size() + 1, function.size()));
  }
  return false;
}

bool IsEntryFile(std::string_view file) {
  return std::any_of(kEntryFiles.begin(), kEntryFiles.end(), [file](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
}

class ScriptFinder {
 public:
  explicit ScriptFinder(const Recording& recording) : recording_(recording) {}

  Scripts Run() && {
    for (const Function& function : recording_.functions) {
      const std::string_view file = recording_.Text(function.filename);
      if (recording_.Text(function.name) == "<module>" && !file.empty() &&
          BaseName(file).find('.') == std::string_view::npos && !file.starts_with('<')) {
        scripts_.python.insert(function.filename);
      }
    }
    if (!scripts_.python.empty()) {
      LookAtLines();
      LookAtStacks();
    }
    return std::move(scripts_);
  }

 private:
  [[nodiscard]] const Function* FunctionOf(const Line& line) const {
    return line.function.valid() ? &recording_.functions[line.function.value()] : nullptr;
  }
  [[nodiscard]] bool IsScript(const Function* function) const {
    return function != nullptr && scripts_.python.contains(function->filename);
  }

  void LookAtLines() {
    KeyMap<StringId, std::int64_t> lines;
    for (const Line& line : recording_.lines) {
      const Function* function = FunctionOf(line);
      if (!IsScript(function)) {
        continue;
      }
      const auto [first, added] = lines.try_emplace(function->filename, line.line);
      if (first->second != line.line || line.line > kLongestEntry ||
          recording_.Text(function->name) != "<module>") {
        scripts_.own.insert(function->filename);
      }
    }
  }

  void LookAtStacks() {
    std::size_t frames = 0;
    const auto undecided = [this] { return scripts_.own.size() < scripts_.python.size(); };
    for (std::uint32_t i = 0; i < recording_.stack_count() && frames < kMaxFrames && undecided();
         ++i) {
      const auto stack = recording_.Stack(StackId(i));
      frames += stack.size();
      const Function* called = nullptr;
      for (const LocationId id : stack) {
        for (const Line& line : recording_.Lines(recording_.At(id))) {
          const Function* function = FunctionOf(line);
          if (IsScript(function)) {
            LookAtCall(function->filename, called);
          }
          const bool python =
              function != nullptr && (IsScript(function) || python_(function->filename));
          called = python ? function : called;
        }
      }
    }
  }

  void LookAtCall(StringId script, const Function* called) {
    const bool starts = called != nullptr && (IsEntry(recording_.Text(called->name)) ||
                                              IsEntryFile(recording_.Text(called->filename)));
    if (!starts) {
      scripts_.own.insert(script);
    }
  }

  const Recording& recording_;
  OncePerText<std::function<bool(StringId)>> python_{
      [this](StringId id) { return IsPythonFile(recording_.Text(id)); }};
  Scripts scripts_;
};

}  // namespace

Scripts FindScripts(const Recording& recording) {
  return ScriptFinder(recording).Run();
}

}  // namespace memtool
