// What the frames of a stack say about a training step; internal to the library.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

struct StackRole {
  bool frames = false;      // there are any
  bool engine = false;      // native frames of autograd
  bool backward = false;    // these, or Python's of a backward pass
  bool accumulate = false;  // a gradient is added to the one that is there
  bool optimizer = false;
  bool zero_grad = false;
};

// Per stack of the recording.
std::vector<StackRole> StackRoles(const Recording& recording);

// Whether the code of an optimizer is in a file; its path has slashes of either kind.
bool IsInOptimizerFolder(std::string_view file);

// How many more of each parameter's size the optimizer keeps that a file of an optimizer, or the
// span of its step, is named after; 0 when it is not known.
std::uint32_t StatesPerParameter(std::string_view name);

}  // namespace memtool
