// Keys for comparing stacks across runs: equal code paths have equal keys even if line numbers,
// checkout paths and sizes differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// The part of a frame's file name that runs have in common: from the package on for installed ones,
// else its last name; one name for all files that torch.compile generates, because they are named
// by their content.
std::string ComparableFile(std::string_view file);

// Which part of a stack forms its key.
enum class KeyLevel : std::uint8_t {
  kFrames,     // the run of its frames
  kInnermost,  // the innermost frame of the program's own code, for versions of a framework apart
  kOperation,  // the innermost native operation, whoever calls it
  kFramesAndLines,  // the run of its frames with their lines: within one recording only
};

// A stack's key is the run of its Python frames (function and file, no lines); where it has none,
// as on autograd's threads, of its native operations. Other native frames differ between builds and
// even runs, and count for nothing.
class StackKeys {
 public:
  static constexpr std::uint32_t kNoFrames = 0;  // the key of stacks without any that count

  explicit StackKeys(KeyLevel level = KeyLevel::kFrames) : level_(level) {}

  // Per stack of `recording`, its key. Keys are shared by all recordings given to one object.
  std::vector<std::uint32_t> Of(const Recording& recording);

 private:
  // Of a line. Rank: of Python frames, how much they are the program's own, from 1; 0 = native.
  struct Frame {
    std::uint32_t id = 0;  // of frames_; 0 = counts for nothing
    std::uint8_t rank = 0;
  };
  std::vector<Frame> GetFrames(const Recording& recording);

  KeyLevel level_;
  StringTable texts_;
  RowMap frames_;  // name and file of a frame, rows of texts_
  KeyMap<std::string, std::uint32_t> keys_;
};

}  // namespace memtool
