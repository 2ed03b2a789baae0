#include "replay/base_sizes.h"

#include <array>

namespace memtool {

BaseSizes::BaseSizes(const Recording& recording, const Trace& trace, const Replay& replay)
    : recording_(recording),
      events_(GetEvents(recording, trace)),
      partners_(replay.partners()),
      roles_(StackRoles(recording)),
      row_of_event_(events_.size()) {
  ListBase(replay);
  if (!blocks_.empty()) {
    Walk();
  }
}

const StackRole& BaseSizes::Role(std::uint32_t event) const {
  static constexpr StackRole kNoFrames;
  const StackId stack = events_[event].stack;
  return stack.valid() ? roles_[stack.value()] : kNoFrames;
}

void BaseSizes::FindDoubled() {
  for (BaseSize& size : sizes_) {
    if (size.gradients != 0 && size.size > 0 && size.size <= INT64_MAX / 2) {
      size.doubled = row_of_.Get(static_cast<std::uint64_t>(size.size) * 2);
    }
  }
}

std::uint32_t BaseSizes::RowOf(std::int64_t size) {
  const std::uint32_t row =
      row_of_.GetOrPut(static_cast<std::uint64_t>(size), static_cast<std::uint32_t>(sizes_.size()));
  if (row == sizes_.size()) {
    sizes_.push_back({.size = size});
  }
  return row;
}

void BaseSizes::ListBase(const Replay& replay) {
  for (const std::uint32_t event : replay.unmatched()) {
    const std::uint32_t row = RowOf(events_[event].size);
    ++sizes_[row].base;
    blocks_.push_back({.row = row, .end = event});
  }
  for (const std::uint32_t block : replay.unopened()) {
    const Block& listed = recording_.state->blocks[block];
    const std::uint32_t row = RowOf(listed.requested);
    // The allocation of some is not in the events, but their stack is known.
    if (listed.stack.valid() && roles_[listed.stack.value()].frames) {
      ++sizes_[row].others;
    } else {
      ++sizes_[row].base;
      blocks_.push_back({.row = row, .block = block});
    }
  }
}

// Counts for a pass begin anew.
BaseSize& BaseSizes::InPass(std::uint32_t row) {
  BaseSize& size = sizes_[row];
  if (size.pass != pass_) {
    size.pass = pass_;
    size.allocated = size.added = 0;
  }
  return size;
}

// A moment at which a pass has ended, if it shows more of the base's sizes than the others do.
void BaseSizes::EndPass(std::uint32_t event) {
  if (!inside_) {
    return;
  }
  // Of equals the one beside which least else is held.
  if (held_in_base_ > best_held_ || (held_in_base_ == best_held_ && held_ < held_at_best_)) {
    best_held_ = held_in_base_;
    held_at_best_ = held_;
    outlive_ = event;
  }
  last_end_ = event;
  if (added_in_base_ > best_added_) {
    best_added_ = added_in_base_;
    added_begin_ = pass_begin_;
    added_end_ = event;
  }
  inside_ = false;
}

void BaseSizes::Alloc(std::uint32_t event) {
  const StackRole& role = Role(event);
  if (IsBackward(role)) {
    if (!inside_) {
      inside_ = true;
      ++pass_;
      pass_begin_ = event;
      added_in_base_ = 0;
    }
    BaseSize& size = InPass(row_of_event_[event]);
    held_in_base_ += size.held < size.base ? 1 : 0;
    ++size.held;
    ++held_;
    ++size.allocated;
    size.most = std::max(size.most, size.allocated);
  } else if (role.frames) {
    EndPass(event);
  }
}

void BaseSizes::Free(std::uint32_t event) {
  const std::uint32_t opened = partners_[event];
  if (opened == Replay::kNoEvent || !IsBackward(Role(opened))) {
    return;
  }
  BaseSize& size = InPass(row_of_event_[opened]);
  --size.held;
  --held_;
  held_in_base_ -= size.held < size.base ? 1 : 0;
  if (inside_ && opened >= pass_begin_ && Role(event).accumulate) {
    added_in_base_ += size.added < size.base ? 1 : 0;
    ++size.added;
  }
}

void BaseSizes::Walk() {
  bool any_frames = false;
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (events_[i].action == Action::kAlloc) {
      row_of_event_[i] = RowOf(events_[i].size);
      native_ = native_ || Role(i).engine;
      any_frames = any_frames || Role(i).frames;
    }
  }
  if (!any_frames) {
    return;
  }
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (events_[i].action == Action::kAlloc) {
      Alloc(i);
    } else if (events_[i].action == Action::kFreeCompleted) {
      Free(i);
    }
  }
  EndPass(static_cast<std::uint32_t>(events_.size()));
}

void BaseSizes::CountMade(std::uint32_t event) {
  BaseSize& size = sizes_[row_of_event_[event]];
  const StackRole& role = Role(event);
  size.made += role.optimizer && partners_[event] == Replay::kNoEvent ? 1 : 0;
  if (event < moment_ && partners_[event] >= moment_ && !role.optimizer) {
    ++(IsBackward(role) ? size.gradients : size.others);
  }
}

// The blocks that stand when the gradients are there, and who made what stands beside them.
void BaseSizes::Take(std::uint32_t moment) {
  moment_ = moment;
  for (BaseSize& size : sizes_) {
    size.standing = size.gradients = size.others = size.made = size.freed = size.freed_later =
        size.early = 0;
  }
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (events_[i].action == Action::kAlloc) {
      CountMade(i);
    }
  }
  for (const BaseBlock& block : blocks_) {
    BaseSize& size = sizes_[block.row];
    const bool stands = block.end >= moment;
    const bool freed = FreedByOptimizer(block);
    size.standing += stands ? 1 : 0;
    size.freed += freed ? 1 : 0;
    size.freed_later += freed && stands ? 1 : 0;
    size.early += !stands && FreedByNobody(block) ? 1 : 0;
  }
}

bool BaseSizes::TakeOutliving() {
  Take(outlive_);
  return best_held_ != 0;
}

bool BaseSizes::TakeAdded() {
  Take(added_end_);
  for (BaseSize& size : sizes_) {
    size.gradients = 0;
  }
  for (std::uint32_t i = added_begin_; i < added_end_; ++i) {
    const std::uint32_t opened = partners_[i];
    if (events_[i].action == Action::kFreeCompleted && opened != Replay::kNoEvent &&
        opened >= added_begin_ && IsBackward(Role(opened)) && Role(i).accumulate) {
      ++sizes_[row_of_event_[opened]].gradients;
    }
  }
  return best_added_ != 0;
}

bool BaseSizes::TakeMultiples() {
  Take(last_end_);
  std::array<std::uint64_t, kMostCopies + 1> votes{};
  std::uint64_t all = 0;
  const auto copies = [](const BaseSize& size) {
    const bool even = size.most != 0 && size.standing % size.most == 0;
    return even && !IsWorkspaceSize(size.size) ? size.standing / size.most : 0;
  };
  for (const BaseSize& size : sizes_) {
    const std::uint32_t of = copies(size);
    if (of <= kMostCopies) {
      votes[of] += size.standing;
    }
    all += size.most != 0 ? size.standing : 0;
  }
  const auto best = std::max_element(votes.begin() + 2, votes.end());
  std::size_t different = 0;
  for (BaseSize& size : sizes_) {
    const bool fits = copies(size) == static_cast<std::uint32_t>(best - votes.begin());
    size.gradients = fits ? size.most : 0;
    different += fits && size.standing != 0 ? 1 : 0;
  }
  return different > kManySizes && IsShare(*best, all, kNearlyAll) &&
         !IsShare(best_held_, all, 1 - kNearlyAll);
}

}  // namespace memtool
