#include "select/backward.h"

#include <algorithm>
#include <string_view>

namespace memtool {

namespace {

bool IsBackward(std::string_view function) {
  return function.find("autograd::Engine") != std::string_view::npos ||
         function.find("autograd::AccumulateGrad") != std::string_view::npos ||
         (function.ends_with("::apply") && function.find("Backward") != std::string_view::npos);
}

// Per stack, whether a frame of it is autograd's; empty when there is none.
std::vector<char> BackwardStacks(const Recording& recording) {
  std::vector<char> functions;
  functions.reserve(recording.functions.size());
  for (const Function& function : recording.functions) {
    functions.push_back(static_cast<char>(IsBackward(recording.Text(function.name))));
  }
  if (std::find(functions.begin(), functions.end(), 1) == functions.end()) {
    return {};
  }
  std::vector<char> stacks(recording.stack_count());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (const LocationId location : recording.Stack(StackId(i))) {
      for (const Line& line : recording.Lines(recording.At(location))) {
        if (line.function.valid() && functions[line.function.value()] != 0) {
          stacks[i] = 1;
        }
      }
    }
  }
  return stacks;
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
  }
}

bool BackwardPasses::IsTemporary(std::uint32_t event) const {
  if (backward_.empty() || event >= events_.size()) {
    return false;
  }
  const StackId stack = events_[event].stack;
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), event);
  return stack.valid() && backward_[stack.value()] != 0 && end != ends_.end() &&
         replay_.partners()[event] < *end;  // kNoEvent comes after everything
}

}  // namespace memtool
