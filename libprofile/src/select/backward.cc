#include "select/backward.h"

#include <algorithm>

#include "replay/stack_roles.h"

namespace memtool {

namespace {

// Per stack, whether a frame of it is autograd's; empty when there is none.
std::vector<char> BackwardStacks(const Recording& recording) {
  const std::vector<StackRole> roles = StackRoles(recording);
  std::vector<char> stacks(roles.size());
  std::transform(roles.begin(), roles.end(), stacks.begin(),
                 [](const StackRole& role) { return static_cast<char>(role.engine); });
  return std::find(stacks.begin(), stacks.end(), 1) == stacks.end() ? std::vector<char>() : stacks;
}

}  // namespace

BackwardPasses::BackwardPasses(const Recording& recording, const Trace& trace, const Replay& replay)
    : replay_(replay), events_(GetEvents(recording, trace)), backward_(BackwardStacks(recording)) {
  bool inside = false;
  for (std::uint32_t i = 0; i < events_.size() && !backward_.empty(); ++i) {
    const Event& event = events_[i];
    if (event.action != Action::kAlloc || !event.stack.valid() ||
        recording.Stack(event.stack).empty()) {
      continue;
    }
    const bool now = backward_[event.stack.value()] != 0;
    if (inside && !now) {
      ends_.push_back(i);
    }
    inside = now;
    last_ = i;
  }
}

bool BackwardPasses::IsTemporary(std::uint32_t event) const {
  if (backward_.empty() || event >= events_.size()) {
    return false;
  }
  const StackId stack = events_[event].stack;
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), event);
  // A recording may end within a pass, which lasts to its last allocation at least.
  const std::uint32_t end = found != ends_.end() ? *found : last_;
  return stack.valid() && backward_[stack.value()] != 0 &&
         replay_.partners()[event] < end;  // kNoEvent comes after everything
}

}  // namespace memtool
