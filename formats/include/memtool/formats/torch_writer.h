// Recording → a PyTorch memory snapshot, as torch.load, pickle.load and PyTorch's viewer read it.
#pragma once

#include <string>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

// A pickle of protocol 2 that holds nothing but dicts, lists, tuples, text and numbers; equal
// texts, frames and stacks are written once. Keys are those of the version of PyTorch that the
// recording's format names; the recording's comments are a list below a key of our own, "memtool",
// which other readers pass over. What a Recording does not hold is not in it: forward_frames, fx_*
// keys of frames, which action an entry without meaning had (it becomes "user_defined"). Errors:
// kUnsupported when the recording has no events or no state of a caching allocator.
Result<std::string> WriteTorchSnapshot(const Recording& recording);

}  // namespace memtool::formats
