#include <algorithm>
#include <map>
#include <vector>

#include "memtool/profile/advise/step_edits.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// The end of a pass's forward and the beginning of its backward: what has the size of the logits,
// and what backward makes of it.
class LossTail {
 public:
  LossTail(const Program& program, const Pass& pass) : program_(program), pass_(pass) {
    constexpr std::size_t kLast = 12;  // allocations of the forward
    std::vector<std::uint32_t> last;
    for (Time i = pass.backward; i > pass.begin && last.size() < kLast; --i) {
      const Operation& operation = program.operations[i - 1];
      if (operation.kind == Kind::kAllocate) {
        last.push_back(operation.block);
      }
    }
    for (const std::uint32_t row : last) {  // the first of the largest is the last that is seen
      if (program.blocks[row].size >= size_) {
        size_ = program.blocks[row].size;
        begin_ = program.blocks[row].made;
      }
    }
    for (Time i = begin_; i < pass.end; ++i) {
      const Operation& operation = program.operations[i];
      if (operation.kind == Kind::kFreeCompleted && IsLogits(operation.block)) {
        end_ = i + 1;
      }
    }
    for (Time i = pass.backward; i < end_; ++i) {
      const Operation& operation = program.operations[i];
      head_ |= operation.kind == Kind::kAllocate && Outlives(i) &&
               IsOfParameter(program.blocks[operation.block]);
    }
  }

  // There are logits, and while the backward frees them it makes the gradient of the head.
  [[nodiscard]] bool known() const { return size_ > 0 && head_; }

  void InParts(std::uint32_t parts, Splice& splice) {
    for (Time i = begin_; i < end_; ++i) {
      const Operation& operation = program_.operations[i];
      if (operation.kind == Kind::kAllocate && (IsLogits(operation.block) || Outlives(i))) {
        splice.Drop(operation.block);
      }
    }
    for (std::uint32_t part = 0; part < parts; ++part) {
      Compute(begin_, begin_, pass_.backward, parts, splice);
      FreeLogits(begin_, splice);
    }
    for (std::uint32_t part = 0; part < parts; ++part) {
      Compute(pass_.backward, begin_, end_, parts, splice);
      FreeLogits(pass_.backward, splice);
      AddUp(splice);
    }
    Join(splice);
  }

 private:
  [[nodiscard]] bool IsLogits(std::uint32_t row) const {
    const Block& block = program_.blocks[row];
    return block.size == size_ && block.made >= begin_ && block.made < pass_.end &&
           block.phase != Phase::kOptimizer;
  }
  // Of the backward: gradients of parameters, and that of what the head was given.
  [[nodiscard]] bool Outlives(Time at) const {
    const Block& block = program_.blocks[program_.operations[at].block];
    return at >= pass_.backward && block.phase == Phase::kBackward && block.freed >= end_ &&
           block.size >= kSmallBlock;
  }
  [[nodiscard]] bool IsOfParameter(const Block& block) const { return block.freed > pass_.end; }

  // What happens to logits from `from` to `to`, in one part, at `at`; in the backward also what
  // outlives it.
  void Compute(Time at, Time from, Time to, std::uint32_t parts, Splice& splice) {
    for (Time i = from; i < to; ++i) {
      const Operation& operation = program_.operations[i];
      const std::uint32_t row = operation.block;
      if (operation.kind == Kind::kAllocate && Outlives(i)) {
        Gradient(row, at, parts, splice);
      } else if (operation.kind == Kind::kAllocate && IsLogits(row)) {
        copies_[row] = splice.Make(at, PartOf(program_.blocks[row], parts));
      } else if (operation.kind == Kind::kFreeCompleted && IsLogits(row)) {
        if (const auto copy = copies_.find(row); copy != copies_.end()) {
          splice.Free(at, copy->second);
          copies_.erase(copy);
        }
      }
    }
  }

  // Of a parameter it is whole in each part.
  void Gradient(std::uint32_t row, Time at, std::uint32_t parts, Splice& splice) {
    const Block& block = program_.blocks[row];
    if (IsOfParameter(block)) {
      added_[row].push_back(splice.Make(at, block));
    } else {
      pieces_[row].push_back(splice.Make(at, PartOf(block, parts)));
    }
  }

  static Block PartOf(Block block, std::uint32_t parts) {
    block.size = std::max<std::int64_t>(block.size / parts, 1);
    return block;
  }

  void FreeLogits(Time at, Splice& splice) {
    for (const auto& [row, copy] : copies_) {
      splice.Free(at, copy);
    }
    copies_.clear();
  }

  // A gradient of a part and the sum of those before become one.
  void AddUp(Splice& splice) {
    for (auto& [row, gradients] : added_) {
      if (gradients.size() == 2) {
        const std::uint32_t sum = splice.Make(pass_.backward, program_.blocks[row]);
        splice.Free(pass_.backward, gradients[0]);
        splice.Free(pass_.backward, gradients[1]);
        gradients = {sum};
      }
    }
  }

  void Join(Splice& splice) {
    for (const auto& [row, gradients] : added_) {
      if (const Time freed = program_.blocks[row].freed; freed != kNever) {
        splice.Free(freed, gradients.front());
      }
    }
    for (const auto& [row, pieces] : pieces_) {
      const std::uint32_t whole = splice.Make(pass_.backward, program_.blocks[row]);
      for (const std::uint32_t piece : pieces) {
        splice.Free(pass_.backward, piece);
      }
      splice.Free(program_.blocks[row].freed, whole);
    }
  }

  const Program& program_;
  const Pass& pass_;
  std::int64_t size_ = 0;
  Time begin_ = 0;
  Time end_ = 0;
  bool head_ = false;
  std::map<std::uint32_t, std::uint32_t> copies_;               // of logits, in this part
  std::map<std::uint32_t, std::vector<std::uint32_t>> added_;   // gradients of parameters
  std::map<std::uint32_t, std::vector<std::uint32_t>> pieces_;  // of what the head was given
};

}  // namespace

std::optional<Program> ChunkLoss(const Program& program, std::uint32_t parts) {
  Splice splice(program);
  bool any = false;
  for (const Pass& pass : FindPasses(program)) {
    if (LossTail tail(program, pass); parts > 1 && tail.known()) {
      tail.InParts(parts, splice);
      any = true;
    }
  }
  return any ? std::optional(splice.Finish()) : std::nullopt;
}

}  // namespace memtool::advise
