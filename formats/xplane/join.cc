#include "xplane/join.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"
#include "support/read_error.h"
#include "xla/op_name.h"

namespace memtool::formats::xplane {

namespace {

constexpr std::size_t kMaxParts = 64;  // what is smaller is one row

// "jit_f" of "jit_f(12)"; JAX writes '_' for what is no letter ("jit__lambda_").
std::string GetModule(std::string_view program) {
  return std::string(program.substr(0, program.find('(')));
}

std::string ModuleOfJit(std::string_view jit) {
  std::string module(jit.substr(0, jit.rfind(')')));
  for (char& c : module) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-';
    c = plain ? c : '_';
  }
  return module;
}

bool IsOfRuntime(hlo::Category category) {
  return category == hlo::Category::kOutput || category == hlo::Category::kTemporary;
}

// What an operation's name says below the jitted functions around it.
std::string GetOperation(const hlo::HloProgram& program, const hlo::Buffer& buffer) {
  if (buffer.instruction == hlo::kNone) {
    return "(no operation)";
  }
  const hlo::Instruction& instruction = program.instructions[buffer.instruction];
  std::string name;
  for (const std::string_view scope : xla::SplitOpName(instruction.op_name)) {
    if (!scope.starts_with("jit(") && !scope.starts_with("pjit")) {
      name += (name.empty() ? "" : "/") + std::string(scope);
    }
  }
  return !name.empty()              ? name
         : instruction.name.empty() ? std::string("(no name)")
                                    : instruction.name;
}

// The operations of one arena, the largest first.
struct Share {
  std::string operation;
  const hlo::Instruction* instruction = nullptr;
  std::int64_t bytes = 0;
};

std::vector<Share> GetShares(const hlo::HloProgram& program, std::size_t allocation) {
  std::map<std::string, Share> by_operation;
  for (const hlo::LiveBuffer& live : hlo::BuffersAtPeak(program, allocation)) {
    const std::size_t row = live.user != hlo::kNone ? live.user : live.buffer;
    const hlo::Buffer& user = program.buffers[row];
    const std::string operation = GetOperation(program, user);
    Share& share = by_operation[operation];
    share.operation = operation;
    if (share.instruction == nullptr && user.instruction != hlo::kNone) {
      share.instruction = &program.instructions[user.instruction];
    }
    share.bytes = SaturatingAdd(share.bytes, program.buffers[live.buffer].size);
  }
  std::vector<Share> shares;
  shares.reserve(by_operation.size());
  for (auto& [name, share] : by_operation) {
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  return shares;
}

// Stacks of parts: the operation, the code that it comes from, then who called the program. A trace
// has the outer functions of that code, too, with the lines where they begin.
class PartStacks {
 public:
  PartStacks(RecordingBuilder& builder, StackId caller, std::string_view module)
      : builder_(builder), module_(module) {
    const auto locations = builder.recording().Stack(caller);
    caller_.assign(locations.begin(), locations.end());
  }

  StackId Of(std::string_view operation, const hlo::Instruction* instruction) {
    std::vector<LocationId> code;
    bool own = false;
    if (instruction != nullptr) {
      for (const hlo::CodeFrame& frame : instruction->frames) {
        if (!frame.file.empty()) {
          const std::string_view function = frame.function.empty() ? operation : frame.function;
          code.push_back(Frame(function, frame.file, frame.line));
          own = own || FrameClassifier::Builtin().Classify(function, frame.file).app;
        }
      }
    }
    // In brackets it stands for the code that is missing.
    std::vector<LocationId> stack{Frame(operation, own ? module_ : "<" + module_ + ">", 0)};
    AddJoined(code, stack);
    return builder_.AddStack(stack);
  }

 private:
  // Frames of the code take the place of those of the same functions in the trace, which lie in the
  // same order; what the innermost of these called in the trace, such as the jitted function,
  // called the rest of the code.
  void AddJoined(const std::vector<LocationId>& code, std::vector<LocationId>& stack) const {
    std::vector<std::size_t> found(code.size(), kNotFound);
    std::size_t innermost = kNotFound;
    std::size_t rest = caller_.size();
    for (std::size_t i = code.size(); i-- > 0;) {
      const std::size_t least = rest - std::min(rest, kMaxDistance);
      for (std::size_t at = rest; at-- > least && found[i] == kNotFound;) {
        found[i] = IsSame(code[i], caller_[at]) ? at : kNotFound;
      }
      rest = std::min(rest, found[i]);
      innermost = found[i] == kNotFound ? innermost : i;
    }
    // Up to which frame of the trace all is in the stack.
    std::size_t done = innermost == kNotFound ? caller_.size() : 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (found[i] != kNotFound) {
        stack.insert(stack.end(), At(done), At(found[i]));
        done = found[i] + 1;
      }
      stack.push_back(code[i]);
    }
    stack.insert(stack.end(), At(innermost == kNotFound ? 0 : done), caller_.end());
  }
  [[nodiscard]] std::vector<LocationId>::const_iterator At(std::size_t index) const {
    return caller_.begin() + static_cast<std::ptrdiff_t>(index);
  }

  // Traces say the last part of a file's name only.
  [[nodiscard]] bool IsSame(LocationId a, LocationId b) const {
    const Recording& recording = builder_.recording();
    const auto function_of = [&](LocationId id) -> const Function* {
      const auto lines = recording.Lines(recording.At(id));
      return lines.empty() || !lines.back().function.valid()
                 ? nullptr
                 : &recording.functions[lines.back().function.value()];
    };
    const Function* one = function_of(a);
    const Function* other = function_of(b);
    return one != nullptr && other != nullptr && one->name == other->name &&
           BaseName(recording.Text(one->filename)) == BaseName(recording.Text(other->filename));
  }

  LocationId Frame(std::string_view function, std::string_view file, std::int64_t line) {
    const StringId name = builder_.Intern(function);
    const std::array<Line, 1> lines{
        {{.function = builder_.AddFunction(
              {.name = name, .system_name = name, .filename = builder_.Intern(file)}),
          .line = line}}};
    return builder_.AddLocation({}, lines);
  }

  static constexpr std::size_t kNotFound = SIZE_MAX;
  static constexpr std::size_t kMaxDistance = 512;  // of the same function, in frames of the trace

  RecordingBuilder& builder_;
  std::string module_;
  std::vector<LocationId> caller_;
};

}  // namespace

Join::Join(const std::vector<const Program*>& programs) {
  programs_.reserve(programs.size());
  for (const Program* program : programs) {
    try {
      programs_.push_back({.module = GetModule(program->name),
                           .program = hlo::ReadHloProto(ByteCursor(program->hlo, 0))});
    } catch (const ReadError&) {
      ++unreadable_;
      continue;
    }
    const auto row = static_cast<std::uint32_t>(programs_.size() - 1);
    const auto& allocations = programs_.back().program.allocations;
    for (std::uint32_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].size > 0 && IsOfRuntime(allocations[i].category)) {
        by_size_[allocations[i].size].push_back({row, i});
      }
    }
  }
}

std::optional<Match> Join::Find(std::int64_t requested, std::string_view jit) const {
  const auto found = by_size_.find(requested);
  if (found == by_size_.end()) {
    return std::nullopt;
  }
  const std::string module = ModuleOfJit(jit);
  const auto named = [&](const Place& place) { return programs_[place.program].module == module; };
  const bool by_name =
      !jit.empty() && std::any_of(found->second.begin(), found->second.end(), named);
  Match match;
  bool any = false;
  bool one_program = true;
  bool one_module = true;
  for (const Place& place : found->second) {
    if (by_name && !named(place)) {
      continue;
    }
    const Named& program = programs_[place.program];
    const hlo::Category category = program.program.allocations[place.allocation].category;
    if (!any) {
      match = {.certainty = Certainty::kProgram,
               .module = program.module,
               .category = category,
               .reported = true,
               .program = place.program,
               .allocation = place.allocation};
      any = true;
      continue;
    }
    one_program = one_program && place.program == match.program;
    one_module = one_module && program.module == match.module;
    match.reported = match.reported && category == match.category;
  }
  match.certainty = !one_module   ? Certainty::kNone
                    : one_program ? Certainty::kProgram
                                  : Certainty::kName;
  if (match.certainty == Certainty::kNone) {
    match.module = {};
  }
  return match;
}

void Join::Divide(const Match& match, StackId stack, std::int64_t size, RecordingBuilder& builder,
                  std::vector<BreakdownPart>& parts) const {
  if (match.certainty == Certainty::kNone || !match.reported ||
      match.category != hlo::Category::kTemporary) {
    return;
  }
  std::vector<Share> shares = GetShares(programs_[match.program].program, match.allocation);
  std::int64_t rest = size;
  for (const Share& share : shares) {
    rest = SaturatingSubtract(rest, share.bytes);
  }
  // More than fits is a program that was read wrong: its arena stays whole.
  if (shares.empty() || rest < 0) {
    return;
  }
  PartStacks stacks(builder, stack, match.module);
  std::int64_t small = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i >= kMaxParts) {
      small = SaturatingAdd(small, shares[i].bytes);
      continue;
    }
    parts.push_back({.stack = stacks.Of(shares[i].operation, shares[i].instruction),
                     .labels = LabelSetId(0U),
                     .bytes = shares[i].bytes});
  }
  const auto add = [&](std::string_view name, std::int64_t bytes) {
    if (bytes > 0) {
      parts.push_back(
          {.stack = stacks.Of(name, nullptr), .labels = LabelSetId(0U), .bytes = bytes});
    }
  };
  add("(smaller buffers)", small);
  add("(not in use at the program's peak)", rest);
}

}  // namespace memtool::formats::xplane
