// Stacks of different runs made comparable: equal code paths get equal keys although lines moved,
// checkouts lie elsewhere and sizes differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// The file of a frame as runs share it: from the package on for installed ones, else its last name;
// one name for all files that torch.compile generates, because they are named by their content.
std::string ComparableFile(std::string_view file);

// A stack's key is the run of its Python frames (function and file, no lines); where it has none,
// as on autograd's threads, of its native operations. Other native frames differ between builds and
// even runs, and count for nothing.
class StackKeys {
 public:
  static constexpr std::uint32_t kNoFrames = 0;  // the key of stacks without any that count

  // Per stack of `recording`, its key. Keys are shared by all recordings given to one object.
  std::vector<std::uint32_t> Of(const Recording& recording);

 private:
  std::vector<std::uint32_t> FramesOf(const Recording& recording);

  StringTable frames_;
  std::unordered_map<std::string, std::uint32_t> keys_;
};

}  // namespace memtool
