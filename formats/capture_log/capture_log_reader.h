// Logs of the capture shim (.mtcap): capture/FORMAT.md says what is in them. What a killed process,
// a full disk or a cut file left intact is read; the rest is counted and reported.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class CaptureLogReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "capture_log"; }
  [[nodiscard]] std::string_view summary() const override {
    return "logs of memtool run: every device allocation of a process";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kDriverLog;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
