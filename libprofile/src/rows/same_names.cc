#include "rows/same_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/select/frame_class.h"

namespace memtool {

namespace {

// The first stacks tell nearly all; looking at all of a very large recording is not worth the time.
constexpr std::size_t kMostFrames = 8'000'000;
// More than the classes of any file: such lines come from a script that made them up.
constexpr std::size_t kMostParts = 64;
constexpr std::uint32_t kNoName = UINT32_MAX;

using Calls = std::set<std::pair<std::int64_t, std::int64_t>>;

struct Name {
  std::set<std::int64_t> starts;
  // Each line with the lines of any function that call it.
  std::map<std::int64_t, Calls> lines;
  Calls nested;  // outer and inner line of this name in one stack
  bool lambda = false;
  bool open = false;  // several lines, and the format does not say of how many functions
  bool shared = false;
  bool recurses = false;
};

// A line of a stack.
struct Seen {
  Name* name;
  std::int64_t line;
};

class Names {
 public:
  explicit Names(const Recording& recording) : recording_(recording) {
    Collect();
    bool open = false;
    for (Name& name : all_) {
      const bool told = *name.starts.rbegin() > 0;
      name.shared = told && name.starts.size() > 1;
      name.open = !told && name.lines.size() > 1;
      open = open || name.open;
    }
    if (open) {
      LookAtStacks();
    }
  }

  // 0 where the name is of one function.
  [[nodiscard]] std::vector<std::int64_t> Parts() const;

 private:
  void Collect();
  void LookAtStacks();
  void LookAt(std::span<const LocationId> stack);
  static void NoteCaller(const Line& caller, std::span<const Seen> called);
  void NoteNested(Name& name, std::int64_t line) const;
  [[nodiscard]] Name* OpenNameOf(const Line& line) {
    const std::uint32_t name =
        line.function.valid() ? of_function_[line.function.value()] : kNoName;
    return name != kNoName && all_[name].open && !all_[name].recurses ? &all_[name] : nullptr;
  }
  static std::map<std::int64_t, std::int64_t> FirstLines(const Name& name);

  const Recording& recording_;
  std::vector<Name> all_;
  std::vector<std::uint32_t> of_function_;  // row of all_
  // Per function: frames through which every call passes, and what calls whatever it was given.
  enum class Caller : std::uint8_t { kSays, kPasses, kHides };
  std::vector<Caller> callers_;
  std::vector<Seen> seen_;  // of one stack, innermost first
};

void Names::Collect() {
  const std::vector<std::string>& through = BuiltinFrameRules().through;
  std::map<std::pair<StringId, StringId>, std::uint32_t> index;
  for (const Function& function : recording_.functions) {
    const std::string_view name = recording_.Text(function.name);
    const std::string_view file = recording_.Text(function.filename);
    const bool python = IsPythonFile(file);
    const bool passes = !python || name == "__call__" ||
                        std::find(through.begin(), through.end(), name) != through.end();
    callers_.push_back(passes                                            ? Caller::kPasses
                       : file.ends_with("torch/nn/modules/container.py") ? Caller::kHides
                                                                         : Caller::kSays);
    if (name == "<module>" || !python) {
      of_function_.push_back(kNoName);
      continue;
    }
    const auto [it, added] = index.try_emplace({function.name, function.filename},
                                               static_cast<std::uint32_t>(all_.size()));
    if (added) {
      all_.emplace_back().lambda = name == "<lambda>";
    }
    of_function_.push_back(it->second);
    all_[it->second].starts.insert(function.start_line);
  }
  for (const Line& line : recording_.lines) {
    const std::uint32_t name =
        line.function.valid() ? of_function_[line.function.value()] : kNoName;
    if (name != kNoName) {
      all_[name].lines.try_emplace(line.line);
    }
  }
}

void Names::LookAt(std::span<const LocationId> stack) {
  seen_.clear();
  std::size_t waiting = 0;  // of seen_: whose caller has not been met yet
  for (const LocationId id : stack) {
    for (const Line& line : recording_.Lines(recording_.At(id))) {
      if (!line.function.valid()) {
        continue;
      }
      const Caller caller = callers_[line.function.value()];
      if (caller != Caller::kPasses) {
        if (caller == Caller::kSays) {
          NoteCaller(line, std::span(seen_).subspan(waiting));
        }
        waiting = seen_.size();
      }
      if (Name* name = OpenNameOf(line)) {
        NoteNested(*name, line.line);
        seen_.push_back({name, line.line});
      }
    }
  }
}

void Names::NoteCaller(const Line& caller, std::span<const Seen> called) {
  for (const Seen& seen : called) {
    seen.name->lines[seen.line].emplace(caller.function.value(), caller.line);
  }
}

void Names::NoteNested(Name& name, std::int64_t line) const {
  for (const Seen& inner : seen_) {
    if (inner.name == &name) {
      name.nested.emplace(line, inner.line);
      name.recurses =
          name.recurses || inner.line == line || name.nested.count({inner.line, line}) > 0;
    }
  }
}

void Names::LookAtStacks() {
  std::size_t frames = 0;
  for (std::uint32_t i = 0; i < recording_.stack_count() && frames < kMostFrames; ++i) {
    const auto stack = recording_.Stack(StackId(i));
    frames += stack.size();
    LookAt(stack);
  }
  for (Name& name : all_) {
    name.shared = name.shared || (name.open && !name.recurses && !name.nested.empty()) ||
                  (name.open && name.lambda);
  }
}

// Per line the first line of its function; 0 where there are too many.
std::map<std::int64_t, std::int64_t> Names::FirstLines(const Name& name) {
  std::map<std::int64_t, std::int64_t> first;
  const Calls* before = nullptr;
  std::int64_t line_before = 0;
  std::size_t parts = 0;
  for (const auto& [line, callers] : name.lines) {
    const bool joins =
        before != nullptr && !name.lambda && name.nested.count({line, line_before}) == 0 &&
        name.nested.count({line_before, line}) == 0 &&
        std::any_of(callers.begin(), callers.end(),
                    [before](const auto& caller) { return before->count(caller) > 0; });
    first[line] = joins ? first[line_before] : line;
    parts += joins ? 0 : 1;
    before = &callers;
    line_before = line;
  }
  if (parts > kMostParts) {
    for (auto& [line, part] : first) {
      part = 0;
    }
  }
  return first;
}

std::vector<std::int64_t> Names::Parts() const {
  std::vector<std::map<std::int64_t, std::int64_t>> first(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].shared && all_[i].open) {
      first[i] = FirstLines(all_[i]);
    }
  }
  std::vector<std::int64_t> parts(recording_.lines.size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Line& line = recording_.lines[i];
    const std::uint32_t name =
        line.function.valid() ? of_function_[line.function.value()] : kNoName;
    if (name != kNoName && all_[name].shared) {
      parts[i] = all_[name].open ? first[name].at(line.line)
                                 : recording_.functions[line.function.value()].start_line;
    }
  }
  return parts;
}

}  // namespace

std::vector<std::int64_t> PartsOfNames(const Recording& recording) {
  return Names(recording).Parts();
}

}  // namespace memtool
