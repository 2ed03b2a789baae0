// Nsight Systems' SQLite exports: allocations from the CUDA driver and runtime, recorded with
// nsys profile --cuda-memory-usage=true.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class NsysReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "nsys"; }
  [[nodiscard]] std::string_view summary() const override {
    return "Nsight Systems exports with CUDA memory usage (.sqlite)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kDriverLog;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
