// PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot, _snapshot, memory_snapshot; XPU and
// pinned host memory alike): pickles as CPython and as torch::jit::Pickler write them, the same as
// JSON, and the HTML pages that contain one. Pickles are read as data: nothing in them is run.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class TorchSnapshotReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "torch_snapshot"; }
  [[nodiscard]] std::string_view summary() const override {
    return "PyTorch memory snapshots (pickle, JSON, or an HTML page with one inside)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kSnapshot;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
