// The JSON form of XLA's profiler traces ("<host>.trace.json.gz"), for where no *.xplane.pb is
// left.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class TraceJsonReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "trace-json"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the JSON form of such traces (*.trace.json.gz)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
