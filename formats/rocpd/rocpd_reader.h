// rocpd databases, which rocprofv3 and rocprof-sys write: what processes took from the HSA runtime
// of ROCm, and the calls and roctx ranges around it.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class RocpdReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "rocpd"; }
  [[nodiscard]] std::string_view summary() const override {
    return "rocpd databases of rocprofv3 with memory allocations (.db)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kDriverLog;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
