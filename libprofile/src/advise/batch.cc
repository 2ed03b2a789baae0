#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "memtool/profile/advise/step_edits.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// What scales with the batch: of forward and backward, unless its size is a parameter's or its life
// a gradient's.
class Batch {
 public:
  Batch(const Program& program, const std::vector<Pass>& passes) : passes_(passes) {
    for (const Block& block : program.blocks) {
      const bool before = block.made < passes.front().begin &&
                          (block.phase == Phase::kBefore || block.phase == Phase::kForward);
      if (before && (block.freed == kNever || block.freed > passes.front().end)) {
        parameters_.insert(block.size);
      }
    }
  }

  [[nodiscard]] bool Scales(const Block& block) const {
    const bool computes = block.phase == Phase::kForward || block.phase == Phase::kBackward ||
                          block.phase == Phase::kRecompute;
    return computes && block.made >= passes_.front().begin && block.size >= kSmallBlock &&
           !IsGradient(block) &&
           (block.phase == Phase::kForward || !parameters_.contains(block.size));
  }

  // Of a backward and alive behind it.
  [[nodiscard]] bool IsGradient(const Block& block) const {
    if (block.phase != Phase::kBackward) {
      return false;
    }
    const auto pass = std::upper_bound(passes_.begin(), passes_.end(), block.made,
                                       [](Time time, const Pass& one) { return time < one.begin; });
    return pass == passes_.begin() || block.freed > std::prev(pass)->end;
  }

 private:
  const std::vector<Pass>& passes_;
  std::set<std::int64_t> parameters_;  // sizes
};

// A pass once more, behind itself.
class Repeater {
 public:
  Repeater(const Program& program, const Pass& pass, const Batch& batch, Splice& splice)
      : program_(program), pass_(pass), batch_(batch), splice_(splice) {}

  void Repeat() {
    std::map<std::uint32_t, std::uint32_t> copies;
    std::uint32_t sum = kNever;  // of a gradient, added to the one that is there and gone
    for (Time i = pass_.begin; i < pass_.end; ++i) {
      const Operation& operation = program_.operations[i];
      const std::uint32_t row = operation.block;
      if (sum != kNever) {
        splice_.Free(pass_.end, std::exchange(sum, kNever));
      }
      if (operation.kind == Kind::kFreeCompleted) {
        if (const auto copy = copies.find(row); copy != copies.end()) {
          splice_.Free(pass_.end, copy->second);
        }
      } else if (operation.kind == Kind::kAllocate) {
        const Block& block = program_.blocks[row];
        const std::uint32_t copy = splice_.Make(pass_.end, block);
        if (batch_.IsGradient(block)) {
          sum = copy;
        } else if (block.freed < pass_.end) {
          copies.emplace(row, copy);
        } else {
          Bind(row, copy);
        }
      }
    }
    if (sum != kNever) {
      splice_.Free(pass_.end, sum);
    }
  }

  // What outlives its pass is freed when the last one was.
  void Finish() {
    for (const auto& [row, copy] : bound_) {
      if (program_.blocks[row].freed != kNever) {
        splice_.Free(program_.blocks[row].freed, copy);
      }
    }
  }

 private:
  // A name is bound to the new one, and the old one goes.
  void Bind(std::uint32_t row, std::uint32_t copy) {
    const auto [known, added] = bound_.try_emplace(row, copy);
    if (added) {
      splice_.MoveFree(row, pass_.end);
    } else {
      splice_.Free(pass_.end, std::exchange(known->second, copy));
    }
  }

  const Program& program_;
  const Pass& pass_;
  const Batch& batch_;
  Splice& splice_;
  std::map<std::uint32_t, std::uint32_t> bound_;  // row → its newest copy
};

std::int64_t Part(std::int64_t size, std::uint32_t parts) {
  return std::max<std::int64_t>(size / parts, 1);
}

}  // namespace

std::optional<Program> SmallerBatch(const Program& program, std::uint32_t parts) {
  const std::vector<Pass> passes = FindPasses(program);
  if (passes.empty() || parts < 2) {
    return std::nullopt;
  }
  const Batch batch(program, passes);
  Splice splice(program);
  for (const Operation& operation : program.operations) {
    if (operation.kind == Kind::kAllocate && batch.Scales(program.blocks[operation.block])) {
      splice.Resize(operation.block, Part(program.blocks[operation.block].size, parts));
    }
  }
  return splice.Finish();
}

std::optional<Program> Accumulate(const Program& program, std::uint32_t parts) {
  auto smaller = SmallerBatch(program, parts);
  if (!smaller) {
    return std::nullopt;
  }
  const std::vector<Pass> passes = FindPasses(*smaller);
  const Batch batch(program, passes);
  Splice splice(*smaller);
  constexpr std::uint32_t kMostPasses = 3;  // more of them need no more than the third
  for (const Pass& pass : passes) {
    Repeater repeater(*smaller, pass, batch, splice);
    for (std::uint32_t part = 1; part < std::min(parts, kMostPasses); ++part) {
      repeater.Repeat();
    }
    repeater.Finish();
  }
  return splice.Finish();
}

}  // namespace memtool::advise
