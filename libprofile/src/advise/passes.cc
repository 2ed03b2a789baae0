#include <cstdint>
#include <map>
#include <vector>

#include "memtool/profile/advise/step_edits.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

}  // namespace

std::vector<Pass> FindPasses(const Program& program) {
  std::vector<Pass> passes;
  bool in_backward = true;  // or before the first forward
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind != Kind::kAllocate) {
      continue;
    }
    const auto at = static_cast<Time>(i);
    const Block& block = program.blocks[operation.block];
    const Time backward = program.next_backward[i];
    if (block.phase == Phase::kForward) {
      const bool kept = backward != kNever && block.freed != kNever && block.freed >= backward;
      if (kept && in_backward) {
        passes.push_back({.begin = at, .backward = backward, .end = at + 1});
        in_backward = false;
      }
    } else if (!passes.empty() && block.phase == Phase::kOptimizer) {
      passes.back().optimizer = true;
      in_backward = true;
    } else if (!passes.empty()) {
      passes.back().end = at + 1;
      in_backward = true;
    }
  }
  return passes;
}

namespace {

// A step once more, behind the end of what was recorded.
class StepRepeater {
 public:
  StepRepeater(const Program& program, Time begin)
      : program_(program),
        begin_(begin),
        end_(static_cast<Time>(program.operations.size())),
        splice_(program),
        again_(program.blocks.size(), kNever),
        replaced_by_(program.blocks.size(), kNever),
        replaces_(program.blocks.size(), 0) {}

  Program Repeat() {
    FindReplaced();
    FreeGradients();
    for (Time i = begin_; i < end_; ++i) {
      const Operation& operation = program_.operations[i];
      if (operation.kind == Kind::kAllocate) {
        Make(operation.block);
      } else if (operation.kind == Kind::kFreeCompleted) {
        Free(operation.block);
      }
    }
    return splice_.Finish();
  }

 private:
  [[nodiscard]] bool InStep(const Block& block) const {
    return block.phase != Phase::kBefore && block.made >= begin_;
  }

  // Out of place: what a step frees of before it is replaced by the newest of its size that stays.
  void FindReplaced() {
    std::map<std::int64_t, std::vector<std::uint32_t>> staying;  // by size, made so far in the step
    for (Time i = begin_; i < end_; ++i) {
      const Operation& operation = program_.operations[i];
      const Block& block = program_.blocks[operation.block];
      if (operation.kind == Kind::kAllocate) {
        if (block.freed == kNever && block.phase != Phase::kBackward) {
          staying[block.size].push_back(operation.block);
        }
      } else if (operation.kind == Kind::kFreeCompleted && !InStep(block) &&
                 block.phase != Phase::kBackward) {
        std::vector<std::uint32_t>& of_size = staying[block.size];
        if (!of_size.empty()) {
          replaced_by_[operation.block] = of_size.back();
          replaces_[of_size.back()] = 1;
          of_size.pop_back();
        }
      }
    }
  }

  // zero_grad() stands before the forward.
  void FreeGradients() {
    for (Time i = begin_; i < end_; ++i) {
      const Operation& operation = program_.operations[i];
      const Block& block = program_.blocks[operation.block];
      if (operation.kind == Kind::kAllocate && block.phase == Phase::kBackward &&
          block.freed == kNever) {
        splice_.Free(end_, operation.block);
      }
    }
  }

  void Make(std::uint32_t row) {
    const Block& block = program_.blocks[row];
    const bool stays = block.freed == kNever && replaces_[row] == 0;
    if (stays && block.phase == Phase::kOptimizer) {
      return;  // state is there already
    }
    again_[row] = splice_.Make(end_, block);
    if (stays && block.phase == Phase::kForward) {
      splice_.Free(end_, row);  // the name is bound to the new one
    }
  }

  void Free(std::uint32_t row) {
    if (InStep(program_.blocks[row])) {
      splice_.Free(end_, again_[row]);
    } else if (replaced_by_[row] != kNever) {
      splice_.Free(end_, replaced_by_[row]);
    }
  }

  const Program& program_;
  Time begin_;
  Time end_;
  Splice splice_;
  std::vector<std::uint32_t> again_;        // per block: the one made again
  std::vector<std::uint32_t> replaced_by_;  // per block that the step frees
  std::vector<char> replaces_;              // per block
};

}  // namespace

Program NextStep(const Program& program) {
  const std::vector<Pass> passes = FindPasses(program);
  if (passes.empty()) {
    return program;
  }
  // The last step: what follows the optimizer before it.
  auto last = passes.size() - 1;
  while (last > 0 && !passes[last - 1].optimizer) {
    --last;
  }
  return StepRepeater(program, passes[last].begin).Repeat();
}

}  // namespace memtool::advise
