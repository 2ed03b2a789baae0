// The sizes of what was there before a recording, beside those of the gradients that it shows;
// internal to base_kinds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memtool/profile/base/row_map.h"
#include "memtool/profile/replay/base_kinds.h"
#include "replay/stack_roles.h"

namespace memtool {

// Of gradients, or of what copies of all parameters would be.
inline constexpr double kNearlyAll = 0.95;
inline constexpr double kMost = 0.75;
// From how many different sizes on it is no accident that all fit.
inline constexpr std::size_t kManySizes = 3;
// So many blocks of each parameter's size are looked for.
inline constexpr std::uint32_t kMostCopies = 5;

inline bool IsShare(std::uint64_t part, std::uint64_t whole, double share) {
  return whole != 0 && static_cast<double>(part) >= share * static_cast<double>(whole);
}

// What is known of one size.
struct BaseSize {
  std::int64_t size = 0;
  std::uint32_t base = 0;       // blocks from before the recording
  std::uint32_t standing = 0;   // of these, live when the gradients are
  std::uint32_t held = 0;       // live allocations of backward passes
  std::uint32_t pass = 0;       // the last one that
  std::uint32_t allocated = 0;  //   allocated so many,
  std::uint32_t added = 0;      //   and added so many to what was there
  std::uint32_t most = 0;       // that a pass allocated
  std::uint32_t gradients = 0;
  std::uint32_t others = 0;               // allocated in the recording, live when the gradients are
  std::uint32_t made = 0;                 // by the optimizer, and live at the end
  std::uint32_t freed = 0;                // blocks of the base that the optimizer freed
  std::uint32_t freed_later = 0;          // of these, such that were live with the gradients
  std::uint32_t early = 0;                // gone before the gradients came, nobody knows by whom
  std::uint32_t doubled = RowMap::kNone;  // the row of twice the size
};

struct BaseBlock {
  std::uint32_t row = 0;                 // of sizes
  std::uint32_t end = Replay::kNoEvent;  // its free
  std::uint32_t block = 0;               // of AllocatorState::blocks, where it has no end
  BaseKind kind = BaseKind::kUnknown;
};

class BaseSizes {
 public:
  // All are kept by reference and must outlive this.
  BaseSizes(const Recording& recording, const Trace& trace, const Replay& replay);

  // Each decides which gradients there are, and at which moment. False where there are none.
  bool TakeOutliving();  // what a pass leaves
  bool TakeAdded();      // what it adds to those that are there: they are in the base
  // Passes leave nothing, so the gradients are in the base; and one allocates, and frees again, as
  // many of each size as one copy of the parameters: the base has a number of copies.
  bool TakeMultiples();

  // How many of the blocks that `copies` of the gradients' sizes would be there are.
  template <class Have>
  [[nodiscard]] std::uint64_t Cover(std::uint32_t copies, Have have) const {
    std::uint64_t sum = 0;
    for (const BaseSize& size : sizes_) {
      const std::uint64_t there = std::min(size.gradients, size.standing);
      sum += std::min<std::uint64_t>(std::invoke(have, size), copies * there);
    }
    return sum;
  }
  // The whole copies of them that there are.
  template <class Have>
  [[nodiscard]] std::uint32_t Copies(Have have) const {
    const std::uint64_t matched = Cover(1, &BaseSize::gradients);
    std::uint32_t copies = 0;
    while (copies < kMostCopies &&
           IsShare(Cover(copies + 1, have), (copies + 1) * matched, kNearlyAll)) {
      ++copies;
    }
    return copies;
  }

  void FindDoubled();
  [[nodiscard]] std::uint32_t moment() const { return moment_; }
  [[nodiscard]] std::span<const BaseSize> sizes() const { return sizes_; }
  [[nodiscard]] std::span<BaseBlock> blocks() { return blocks_; }
  [[nodiscard]] bool FreedByOptimizer(const BaseBlock& block) const {
    return block.end != Replay::kNoEvent && Role(block.end).optimizer && !Role(block.end).zero_grad;
  }
  [[nodiscard]] bool FreedByNobody(const BaseBlock& block) const {
    return block.end != Replay::kNoEvent && !Role(block.end).frames;
  }
  [[nodiscard]] bool FreedByZeroGrad(const BaseBlock& block) const {
    return block.end != Replay::kNoEvent && Role(block.end).zero_grad;
  }

 private:
  [[nodiscard]] const StackRole& Role(std::uint32_t event) const;
  // Python's frames alone leave those of autograd's threads empty.
  [[nodiscard]] bool IsBackward(const StackRole& role) const {
    return (role.backward || (!native_ && !role.frames)) && !role.optimizer;
  }
  std::uint32_t RowOf(std::int64_t size);
  void ListBase(const Replay& replay);
  BaseSize& InPass(std::uint32_t row);
  void EndPass(std::uint32_t event);
  void Alloc(std::uint32_t event);
  void Free(std::uint32_t event);
  void Walk();
  void CountMade(std::uint32_t event);
  void Take(std::uint32_t moment);

  const Recording& recording_;
  std::span<const Event> events_;
  std::span<const std::uint32_t> partners_;
  std::vector<StackRole> roles_;  // per stack
  std::vector<BaseBlock> blocks_;
  std::vector<BaseSize> sizes_;
  RowMap row_of_;                            // size → row of sizes_
  std::vector<std::uint32_t> row_of_event_;  // of allocations
  bool native_ = false;                      // stacks show autograd's engine
  // Of the pass that goes on, or went on last; the first is 1.
  std::uint32_t pass_ = 0;
  bool inside_ = false;
  std::uint32_t pass_begin_ = 0;
  std::uint64_t held_ = 0;           // live allocations of passes,
  std::uint64_t held_in_base_ = 0;   //   as many of each size as the base has at most
  std::uint64_t added_in_base_ = 0;  // likewise, what the pass has added to gradients
  // Ends of passes: the last, the one with most of the base's sizes, and that which added most.
  std::uint32_t last_end_ = 0;
  std::uint32_t outlive_ = 0;
  std::uint64_t best_held_ = 0;
  std::uint64_t held_at_best_ = 0;
  std::uint32_t added_begin_ = 0;
  std::uint32_t added_end_ = 0;
  std::uint64_t best_added_ = 0;
  std::uint32_t moment_ = 0;
};

}  // namespace memtool
