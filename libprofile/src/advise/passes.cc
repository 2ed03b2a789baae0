#include <algorithm>

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
  const Time begin = passes[last].begin;
  const auto end = static_cast<Time>(program.operations.size());
  const auto in_step = [&](const Block& block) {
    return block.phase != Phase::kBefore && block.made >= begin;
  };
  Splice splice(program);
  std::vector<std::uint32_t> again(program.blocks.size(), kNever);
  // Out of place: what a step frees of before it is replaced by the newest of its size that stays.
  std::vector<std::uint32_t> replaced_by(program.blocks.size(), kNever);  // per freed block
  std::vector<char> replaces(program.blocks.size(), 0);
  std::vector<std::uint32_t> staying;  // made so far in the step
  for (Time i = begin; i < end; ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind == Kind::kEmptyCache || operation.kind == Kind::kFailed) {
      continue;
    }
    const Block& block = program.blocks[operation.block];
    if (operation.kind == Kind::kAllocate) {
      if (block.freed == kNever && block.phase != Phase::kBackward) {
        staying.push_back(operation.block);
      }
    } else if (operation.kind == Kind::kFreeCompleted && !in_step(block) &&
               block.phase != Phase::kBackward) {
      const auto newest = std::find_if(staying.rbegin(), staying.rend(), [&](std::uint32_t row) {
        return program.blocks[row].size == block.size && replaces[row] == 0;
      });
      if (newest != staying.rend()) {
        replaced_by[operation.block] = *newest;
        replaces[*newest] = 1;
      }
    }
  }
  for (Time i = begin; i < end; ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind == Kind::kAllocate) {
      const Block& block = program.blocks[operation.block];
      if (block.phase == Phase::kBackward && block.freed == kNever) {
        splice.Free(end, operation.block);  // gradients: zero_grad() stands before the forward
      }
    }
  }
  for (Time i = begin; i < end; ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kind == Kind::kEmptyCache || operation.kind == Kind::kFailed) {
      continue;
    }
    const std::uint32_t row = operation.block;
    const Block& block = program.blocks[row];
    if (operation.kind == Kind::kAllocate) {
      const bool stays = block.freed == kNever;
      const bool state = stays && block.phase == Phase::kOptimizer && replaces[row] == 0;
      if (state) {
        continue;
      }
      again[row] = splice.Make(end, block);
      if (stays && block.phase == Phase::kForward && replaces[row] == 0) {
        splice.Free(end, row);  // the name is bound to the new one
      }
    } else if (operation.kind == Kind::kFreeCompleted) {
      if (in_step(block)) {
        splice.Free(end, again[row]);
      } else if (replaced_by[row] != kNever) {
        splice.Free(end, replaced_by[row]);
      }
    }
  }
  return splice.Finish();
}

}  // namespace memtool::advise
