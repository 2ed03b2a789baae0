// Changes of a training step as changes of its allocations: the step after the recorded one, other
// optimizers, smaller batches, the loss in pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memtool/profile/advise/program.h"

namespace memtool::advise {

// Smaller ones do not depend on the batch, nor on the precision: scales, losses, masks of one
// value.
inline constexpr std::int64_t kSmallBlock = std::int64_t{16} << 10U;

// A forward and its backward, and the optimizer's step behind it, if there is one.
struct Pass {
  Time begin = 0;          // the first allocation that is kept for the backward
  Time backward = 0;       // the first allocation of the backward
  Time end = 0;            // behind its last one
  bool optimizer = false;  // steps behind it
};
std::vector<Pass> FindPasses(const Program& program);

// What an optimizer keeps from step to step, with the evidence for it: made in the recording and
// never freed, or there before and replaced in each step, or more blocks than gradients of a size.
struct OptimizerState {
  std::vector<std::uint32_t> blocks;
  // Of an optimizer that makes its state anew in each step: what was there before, and goes.
  std::vector<std::uint32_t> replaced;
  std::int64_t bytes = 0;           // of `blocks`
  bool made = false;                // in the recording: the step before it had none
  std::uint32_t per_parameter = 0;  // 2 of Adam; 0: not known
};
OptimizerState FindState(const Program& program, Rules rules = {});

// The recorded steps, and once more what they do, as the next ones would: state is there already,
// gradients are freed before the forward, what was bound to a name is replaced.
Program NextStep(const Program& program);

enum class OptimizerChange : std::uint8_t { kSgd, k8Bit, kCpu };
// None where no state is recognised.
std::optional<Program> ChangeOptimizer(const Program& program, OptimizerChange change);
// State of parameters that other ranks own is gone.
std::optional<Program> ShardState(const Program& program, std::uint32_t ranks);
// Temporaries of all parameters at once become those of one after the other. None where there are
// no such lists.
std::optional<Program> WithoutForeach(const Program& program);

// Activations of forward and backward 1/`parts` as large. None without a backward.
std::optional<Program> SmallerBatch(const Program& program, std::uint32_t parts);
// The same, and each pass so many times before the optimizer steps.
std::optional<Program> Accumulate(const Program& program, std::uint32_t parts);
// The head and the loss for one part of the positions after the other, each computed again in the
// backward. None where the forward does not end in them.
std::optional<Program> ChunkLoss(const Program& program, std::uint32_t parts);

}  // namespace memtool::advise
