// Databases that Ascend's profilers write: msprof_*.db, ascend_pytorch_profiler*.db.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class AscendDbReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "ascend-db"; }
  [[nodiscard]] std::string_view summary() const override {
    return "databases of Ascend NPU profilers (msprof_*.db, ascend_pytorch_profiler*.db)";
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
