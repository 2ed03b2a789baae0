// Events that msMemScope (before 2026 msLeaks) records on Ascend NPUs: memscope_dump_*.csv,
// leaks_dump_*.csv. Columns are those of msmemscope's output specification; real files are in its
// example/compare.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class MemscopeReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "memscope"; }
  [[nodiscard]] std::string_view summary() const override {
    return "recordings of msMemScope and msLeaks on Ascend NPUs (memscope_dump_*.csv)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
