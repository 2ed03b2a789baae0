#include "rows/same_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool {

namespace {

// The first stacks tell nearly all; looking at all of a very large recording is not worth the time.
constexpr std::size_t kMaxFrames = 8'000'000;
// More than the classes of any file: such lines come from a script that made them up.
constexpr std::size_t kMaxParts = 64;
constexpr std::uint32_t kNoName = UINT32_MAX;
constexpr std::int64_t kNoLine = INT64_MIN;

using Calls = std::set<std::pair<std::int64_t, std::int64_t>>;

// A name with several lines, where the format does not say of how many functions.
struct OpenName {
  // Each line with the lines of any function that call it.
  std::map<std::int64_t, Calls> lines;
  Calls nested;  // outer and inner line of this name in one stack
  bool lambda = false;
  bool recurses = false;
};

// A name and file; kNone and kNoName: not known yet.
struct Name {
  std::int64_t start = kNoLine;
  std::int64_t line = kNoLine;
  std::uint32_t open = kNoName;  // row of open_
  bool lambda = false;
  bool reported = false;  // the format says where functions start
  bool several_starts = false;
  bool several_lines = false;
  bool shared = false;
};

// A line of a stack.
struct Seen {
  OpenName* name;
  std::int64_t line;
};

class Names {
 public:
  explicit Names(const Recording& recording) : recording_(recording) {
    Collect();
    for (Name& name : all_) {
      name.shared = name.reported && name.several_starts;
      if (!name.reported && name.several_lines) {
        name.open = static_cast<std::uint32_t>(open_.size());
        open_.emplace_back().lambda = name.lambda;
      }
    }
    if (!open_.empty()) {
      CollectCallers();
      CollectLines();
      LookAtStacks();
    }
  }

  // 0 where the name is of one function.
  [[nodiscard]] std::vector<std::int64_t> Parts() const;

 private:
  void Collect();
  void CollectCallers();
  void CollectLines();
  void LookAtStacks();
  void LookAt(std::span<const LocationId> stack);
  static void NoteCaller(const Line& caller, std::span<const Seen> called);
  void NoteNested(OpenName& name, std::int64_t line) const;
  static void Note(std::int64_t number, std::int64_t& first, bool& several) {
    several = several || (first != kNoLine && first != number);
    first = number;
  }
  [[nodiscard]] std::uint32_t ToName(const Line& line) const {
    return line.function.valid() ? of_function_[line.function.value()] : kNoName;
  }
  [[nodiscard]] std::uint32_t FindOpenRow(const Line& line) const {
    const std::uint32_t name = ToName(line);
    return name != kNoName ? all_[name].open : kNoName;
  }
  static std::map<std::int64_t, std::int64_t> FirstLines(const OpenName& name);

  const Recording& recording_;
  OncePerText<std::function<bool(StringId)>> python_file_{
      [this](StringId id) { return IsPythonFile(recording_.Text(id)); }};
  std::vector<Name> all_;
  std::vector<OpenName> open_;
  std::vector<std::uint32_t> of_function_;  // row of all_
  // Per function: frames through which every call passes, and what calls whatever it was given.
  enum class Caller : std::uint8_t { kSays, kPasses, kHides };
  std::vector<Caller> callers_;
  std::vector<Seen> seen_;  // of one stack, innermost first
};

void Names::Collect() {
  RowMap index;  // by name and file
  for (const Function& function : recording_.functions) {
    const std::string_view name = recording_.Text(function.name);
    if (name == "<module>" || !python_file_(function.filename)) {
      of_function_.push_back(kNoName);
      continue;
    }
    const std::uint64_t key =
        std::uint64_t{function.name.value()} << 32U | function.filename.value();
    const std::uint32_t row = index.GetOrPut(key, static_cast<std::uint32_t>(all_.size()));
    if (row == all_.size()) {
      all_.emplace_back().lambda = name == "<lambda>";
    }
    of_function_.push_back(row);
    all_[row].reported = all_[row].reported || function.start_line > 0;
    Note(function.start_line, all_[row].start, all_[row].several_starts);
  }
  for (const Line& line : recording_.lines) {
    const std::uint32_t name = ToName(line);
    if (name != kNoName) {
      Note(line.line, all_[name].line, all_[name].several_lines);
    }
  }
}

void Names::CollectCallers() {
  const std::vector<std::string>& through = BuiltinFrameRules().through;
  for (const Function& function : recording_.functions) {
    const std::string_view name = recording_.Text(function.name);
    const std::string_view file = recording_.Text(function.filename);
    const bool passes = !python_file_(function.filename) || name == "__call__" ||
                        std::find(through.begin(), through.end(), name) != through.end();
    callers_.push_back(passes                                            ? Caller::kPasses
                       : file.ends_with("torch/nn/modules/container.py") ? Caller::kHides
                                                                         : Caller::kSays);
  }
}

void Names::CollectLines() {
  for (const Line& line : recording_.lines) {
    const std::uint32_t open = FindOpenRow(line);
    if (open != kNoName) {
      open_[open].lines.try_emplace(line.line);
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
      const std::uint32_t open = FindOpenRow(line);
      if (open != kNoName && !open_[open].recurses) {
        NoteNested(open_[open], line.line);
        seen_.push_back({&open_[open], line.line});
      }
    }
  }
}

void Names::NoteCaller(const Line& caller, std::span<const Seen> called) {
  for (const Seen& seen : called) {
    seen.name->lines[seen.line].emplace(caller.function.value(), caller.line);
  }
}

void Names::NoteNested(OpenName& name, std::int64_t line) const {
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
  for (std::uint32_t i = 0; i < recording_.stack_count() && frames < kMaxFrames; ++i) {
    const auto stack = recording_.Stack(StackId(i));
    frames += stack.size();
    LookAt(stack);
  }
  for (Name& name : all_) {
    if (name.open != kNoName) {
      const OpenName& open = open_[name.open];
      name.shared = open.lambda || (!open.recurses && !open.nested.empty());
    }
  }
}

// Per line the first line of its function; 0 where there are too many.
std::map<std::int64_t, std::int64_t> Names::FirstLines(const OpenName& name) {
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
  if (parts > kMaxParts) {
    for (auto& [line, part] : first) {
      part = 0;
    }
  }
  return first;
}

std::vector<std::int64_t> Names::Parts() const {
  std::vector<std::map<std::int64_t, std::int64_t>> first(open_.size());
  for (const Name& name : all_) {
    if (name.shared && name.open != kNoName) {
      first[name.open] = FirstLines(open_[name.open]);
    }
  }
  std::vector<std::int64_t> parts(recording_.lines.size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Line& line = recording_.lines[i];
    const std::uint32_t name = ToName(line);
    if (name != kNoName && all_[name].shared) {
      const std::uint32_t open = all_[name].open;
      parts[i] = open != kNoName ? first[open].at(line.line)
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
