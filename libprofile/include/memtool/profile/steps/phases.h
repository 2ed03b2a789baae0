// What a training step was doing when it allocated: forward, backward or the optimizer, recognised
// by the names of the functions on the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

enum class StepPhase : std::uint8_t { kOther, kForward, kBackward, kOptimizer };
inline constexpr std::size_t kPhases = 4;

// "other", "forward", "backward", "optimizer"
std::string_view ToName(StepPhase phase);

// The names that identify phases. Files are words of a path: of its last name, or of a folder.
struct PhaseWords {
  std::span<const std::string_view> optimizer_functions;
  std::span<const std::string_view> optimizer_files;     // what their words begin with
  std::span<const std::string_view> no_optimizer_files;  // but not these: a scheduler steps, too
  std::span<const std::string_view> backward_functions;
  std::span<const std::string_view> forward_functions;
  std::span<const std::string_view> backward_native;  // parts of native names
};
const PhaseWords& BuiltinPhaseWords();
// Whether a Python file holds an optimizer: "torch/optim/adamw.py", not
// "torch/optim/lr_scheduler.py".
bool IsOptimizerFile(std::string_view file);

// The phase that a stack indicates.
struct StackPhase {
  StepPhase phase = StepPhase::kOther;
  bool python = false;   // has Python frames
  bool module = false;   // among them that of a module's call
  bool nothing = false;  // no frame that has a name
};

struct StackPhases {
  std::vector<StackPhase> stacks;  // per stack of a recording
  StackPhase none;                 // of allocations without a stack

  [[nodiscard]] const StackPhase& Of(StackId stack) const {
    return stack.valid() ? stacks[stack.value()] : none;
  }
};

// In a recording whose stacks have Python frames, those without any frame are of autograd's
// threads: backward.
StackPhases PhasesOfStacks(const Recording& recording);
// Whether any function of it is one of a backward pass.
bool HasBackward(const Recording& recording);

// Allocations in a row of one phase.
struct PhaseRun {
  StepPhase phase = StepPhase::kOther;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Runs that are short (under 0.3 % of all, and much shorter than a usual run) are joined to the run
// before them, so that a hook within backward does not end it.
std::vector<PhaseRun> MakeRuns(std::span<const StepPhase> phases);

}  // namespace memtool
