#include "memtool/profile/steps/phases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool {

namespace {

constexpr auto kOptimizerFunctions = std::to_array<std::string_view>({"step", "step_param"});
constexpr auto kOptimizerFiles = std::to_array<std::string_view>(
    {"optim", "adam", "adafactor", "adagrad", "sgd", "muon", "lion", "lamb", "lars", "rmsprop",
     "shampoo", "soap", "sophia", "fusedadam", "cpuadam", "galore", "stage3", "stage_1_and_2"});
constexpr auto kNoOptimizerFiles = std::to_array<std::string_view>({"scheduler", "sched"});
constexpr auto kBackwardFunctions =
    std::to_array<std::string_view>({"backward", "_engine_run_backward", "unpack_hook"});
constexpr auto kForwardFunctions =
    std::to_array<std::string_view>({"forward", "_call_impl", "_wrapped_call_impl"});
constexpr auto kBackwardNative =
    std::to_array<std::string_view>({"Backward0", "Backward1", "Backward::", "AccumulateGrad",
                                     "autograd::Engine", "autograd::python::PythonEngine"});

// Of all allocations, and of a usual run.
constexpr double kShortOfAll = 0.003;
constexpr double kShortOfUsual = 0.03;

// What a frame may be.
constexpr std::uint8_t kPython = 1;
constexpr std::uint8_t kOptimizerStep = 2;
constexpr std::uint8_t kBackward = 4;
constexpr std::uint8_t kForward = 8;
constexpr std::uint8_t kBackwardNativeFrame = 16;
constexpr std::uint8_t kNamed = 32;

bool IsOneOf(std::string_view name, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

// Whether one of the words that `name` is made of begins so.
bool HasWord(std::string_view name, std::span<const std::string_view> beginnings) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t at = 0; at < lower.size(); ++at) {
    const bool begins = at == 0 || std::isalpha(static_cast<unsigned char>(lower[at - 1])) == 0;
    const std::string_view rest = std::string_view(lower).substr(at);
    if (begins && std::any_of(beginnings.begin(), beginnings.end(),
                              [rest](std::string_view word) { return rest.starts_with(word); })) {
      return true;
    }
  }
  return false;
}

// What the frames of functions may be; each text is looked at once.
class FrameKinds {
 public:
  explicit FrameKinds(const Recording& recording)
      : recording_(recording), kinds_(recording.functions.size(), kUnknown) {}

  std::uint8_t Of(FunctionId function) {
    std::uint8_t& kind = kinds_[function.value()];
    if (kind == kUnknown) {
      const Function& of = recording_.functions[function.value()];
      kind = python_(of.filename) ? OfPython(of) : native_(of.name);
    }
    return kind;
  }

 private:
  static constexpr std::uint8_t kUnknown = 0xff;

  std::uint8_t OfPython(const Function& function) {
    const PhaseWords& words = BuiltinPhaseWords();
    const std::string_view name = recording_.Text(function.name);
    unsigned kind = kPython | kNamed;
    if (IsOneOf(name, words.optimizer_functions) && optimizer_(function.filename)) {
      kind |= kOptimizerStep;
    }
    kind |= IsOneOf(name, words.backward_functions) ? kBackward : 0U;
    kind |= IsOneOf(name, words.forward_functions) ? kForward : 0U;
    return static_cast<std::uint8_t>(kind);
  }
  [[nodiscard]] std::uint8_t OfNative(StringId id) const {
    const auto parts = BuiltinPhaseWords().backward_native;
    const bool backward = std::any_of(parts.begin(), parts.end(),
                                      [name = recording_.Text(id)](std::string_view part) {
                                        return name.find(part) != std::string_view::npos;
                                      });
    return kNamed | (backward ? kBackwardNativeFrame : 0);
  }

  const Recording& recording_;
  std::vector<std::uint8_t> kinds_;  // per function, as stacks ask for them
  OncePerText<std::function<bool(StringId)>> python_{
      [this](StringId id) { return IsPythonFile(recording_.Text(id)); }};
  OncePerText<std::function<bool(StringId)>> optimizer_{
      [this](StringId id) { return IsOptimizerFile(recording_.Text(id)); }};
  OncePerText<std::function<std::uint8_t(StringId)>> native_{
      [this](StringId id) { return OfNative(id); }};
};

// Innermost first: a closure that an optimizer's step calls is forward and backward; what backward
// computes again is backward.
class StackJudge {
 public:
  void Take(std::uint8_t kind) {
    seen_ |= kind;
    if (decided_ || (kind & kPython) == 0) {
      return;
    }
    if ((kind & kBackward) != 0) {
      Decide(StepPhase::kBackward);
    } else if ((kind & kOptimizerStep) != 0) {
      Decide((seen_ & kForward) != 0 ? StepPhase::kForward : StepPhase::kOptimizer);
    }
  }
  [[nodiscard]] StackPhase Judge() const {
    StackPhase result{.phase = phase_,
                      .python = (seen_ & kPython) != 0,
                      .module = (seen_ & kForward) != 0,
                      .nothing = (seen_ & kNamed) == 0};
    if (!decided_ && (seen_ & kBackwardNativeFrame) != 0) {
      result.phase = StepPhase::kBackward;
    } else if (!decided_ && (seen_ & kForward) != 0) {
      result.phase = StepPhase::kForward;
    }
    return result;
  }

 private:
  void Decide(StepPhase phase) {
    phase_ = phase;
    decided_ = true;
  }

  std::uint8_t seen_ = 0;
  bool decided_ = false;
  StepPhase phase_ = StepPhase::kOther;
};

std::vector<PhaseRun> RawRuns(std::span<const StepPhase> phases) {
  std::vector<PhaseRun> runs;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (runs.empty() || runs.back().phase != phases[i]) {
      runs.push_back({phases[i], i, 0});
    }
    ++runs.back().count;
  }
  return runs;
}

// Half of the allocations lie in runs of this length or longer.
std::size_t UsualLength(const std::vector<PhaseRun>& runs, std::size_t all) {
  std::vector<std::size_t> lengths;
  lengths.reserve(runs.size());
  for (const PhaseRun& run : runs) {
    lengths.push_back(run.count);
  }
  std::sort(lengths.rbegin(), lengths.rend());
  std::size_t covered = 0;
  for (const std::size_t length : lengths) {
    covered += length;
    if (covered * 2 >= all) {
      return length;
    }
  }
  return 0;
}

// Joins the runs that `drop` names to those before them; equal neighbours become one.
template <class Drop>
std::vector<PhaseRun> Without(const std::vector<PhaseRun>& runs, Drop drop) {
  std::vector<PhaseRun> kept;
  std::size_t leading = 0;  // dropped ones before the first that is kept
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (drop(i) && kept.empty()) {
      leading += runs[i].count;
    } else if (!kept.empty() && (drop(i) || kept.back().phase == runs[i].phase)) {
      kept.back().count += runs[i].count;
    } else {
      kept.push_back({runs[i].phase, runs[i].first - leading, runs[i].count + leading});
      leading = 0;
    }
  }
  return kept.empty() ? runs : kept;
}

}  // namespace

std::string_view ToName(StepPhase phase) {
  constexpr std::array<std::string_view, kPhases> kNames{"other", "forward", "backward",
                                                         "optimizer"};
  return kNames.at(static_cast<std::size_t>(phase));
}

const PhaseWords& BuiltinPhaseWords() {
  static constexpr PhaseWords kWords{.optimizer_functions = kOptimizerFunctions,
                                     .optimizer_files = kOptimizerFiles,
                                     .no_optimizer_files = kNoOptimizerFiles,
                                     .backward_functions = kBackwardFunctions,
                                     .forward_functions = kForwardFunctions,
                                     .backward_native = kBackwardNative};
  return kWords;
}

bool IsOptimizerFile(std::string_view file) {
  const PhaseWords& words = BuiltinPhaseWords();
  const std::size_t slash = file.find_last_of("/\\");
  const std::string_view base = slash == std::string_view::npos ? file : file.substr(slash + 1);
  if (HasWord(base, words.no_optimizer_files)) {
    return false;
  }
  if (HasWord(base, words.optimizer_files)) {
    return true;
  }
  const std::string_view folders = slash == std::string_view::npos ? "" : file.substr(0, slash);
  return HasWord(folders.substr(folders.find_last_of("/\\") + 1), words.optimizer_files.first(1));
}

namespace {

StackPhase JudgeStack(const Recording& recording, StackId stack, FrameKinds& kinds) {
  StackJudge judge;
  for (const LocationId location : recording.Stack(stack)) {
    for (const Line& line : recording.Lines(recording.At(location))) {
      if (line.function.valid()) {
        judge.Take(kinds.Of(line.function));
      }
    }
  }
  return judge.Judge();
}

}  // namespace

bool HasBackward(const Recording& recording) {
  FrameKinds kinds(recording);
  for (std::uint32_t row = 0; row < recording.functions.size(); ++row) {
    if ((kinds.Of(FunctionId(row)) & (kBackward | kBackwardNativeFrame)) != 0) {
      return true;
    }
  }
  return false;
}

StackPhases PhasesOfStacks(const Recording& recording) {
  FrameKinds kinds(recording);
  StackPhases phases{.stacks = {}, .none = {.nothing = true}};
  phases.stacks.reserve(recording.stack_count());
  bool python = false;
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    phases.stacks.push_back(JudgeStack(recording, StackId(row), kinds));
    python = python || phases.stacks.back().python;
  }
  if (python) {
    phases.none.phase = StepPhase::kBackward;
    for (StackPhase& phase : phases.stacks) {
      phase.phase = phase.nothing ? StepPhase::kBackward : phase.phase;
    }
  }
  return phases;
}

std::vector<PhaseRun> MakeRuns(std::span<const StepPhase> phases) {
  std::vector<PhaseRun> runs = RawRuns(phases);
  // What is of no phase between two runs of one phase belongs to them.
  runs = Without(runs, [&runs](std::size_t i) {
    return runs[i].phase == StepPhase::kOther && i > 0 && i + 1 < runs.size() &&
           runs[i - 1].phase == runs[i + 1].phase;
  });
  const auto usual = static_cast<double>(UsualLength(runs, phases.size()));
  const double least =
      std::min(kShortOfAll * static_cast<double>(phases.size()), kShortOfUsual * usual);
  return Without(runs, [&](std::size_t i) { return static_cast<double>(runs[i].count) < least; });
}

}  // namespace memtool
