// Recording → a PyTorch memory snapshot, as torch.load, pickle.load and PyTorch's viewer read it.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

// A pickle of protocol 2 that holds nothing but dicts, lists, tuples, text and numbers; equal
// texts, frames and stacks are written once. Keys are those of the version of PyTorch that the
// recording's origin names; the recording's comments are a list under a key of our own, "memtool",
// which other readers ignore. What a Recording does not hold is not in it: forward_frames, fx_*
// keys of frames, and the action of an entry without meaning (it becomes "user_defined").
class TorchSnapshotWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "torch_snapshot"; }
  [[nodiscard]] std::string_view summary() const override {
    return "PyTorch memory snapshots (pickle), parts of one: see memtool cut";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kHistory; }
  [[nodiscard]] bool binary() const override { return true; }
  // Errors: kUnsupported when the recording has no events or no state of a caching allocator.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
