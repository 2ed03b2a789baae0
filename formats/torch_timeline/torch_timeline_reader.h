// What export_memory_timeline of PyTorch's profiler writes (until 2.10): bytes by category over
// time, for one device.
//   raw        [[time in ns, action, ± bytes, category], ...]; time -1: from before
//   coalesced  [[time in µs, ...], [[0, bytes of category 0, ... 7], ...]]
// Source: torch/profiler/_memory_profiler.py.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class TorchTimelineReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "torch_timeline"; }
  [[nodiscard]] std::string_view summary() const override {
    return "PyTorch memory timelines (export_memory_timeline, JSON)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
