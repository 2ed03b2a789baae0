// Logs of RMM, the memory manager of RAPIDS: every allocation and free of a resource, as CSV, also
// without a header among other output, as Spark RAPIDS prints them.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class RmmReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "rmm"; }
  [[nodiscard]] std::string_view summary() const override {
    return "RMM logs (RAPIDS), also among the output of Spark RAPIDS";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
