// rocprofv3's memory_allocation_trace.csv: what a process took from the HSA runtime of ROCm.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class RocprofReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "rocprof"; }
  [[nodiscard]] std::string_view summary() const override {
    return "rocprofv3's memory allocation traces (*_memory_allocation_trace.csv)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kDriverLog;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
