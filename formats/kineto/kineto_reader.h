// Traces of PyTorch's profiler (Kineto, Chrome's trace event format) → the history that their
// "[memory]" events report, which profile_memory=True records. Who allocated is given by the spans
// around an event on its thread: operations, annotations, and Python functions (with_stack=True).
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class KinetoReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "kineto"; }
  [[nodiscard]] std::string_view summary() const override {
    return "PyTorch profiler traces with memory events (profile_memory=True)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
