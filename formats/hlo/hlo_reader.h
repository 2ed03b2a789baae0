// Compiled programs of XLA: what --xla_dump_hlo_as_proto writes (*.hlo.pb), and xprof beside a
// trace (*.hlo_proto.pb), or the JSON form of either. A program's points are events: see
// hlo_history.h.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class HloReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "hlo"; }
  [[nodiscard]] std::string_view summary() const override {
    return "XLA compiled programs (*.hlo.pb, *.hlo_proto.pb, or their JSON form)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kProgram;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

// The same program as text: see hlo_text.h.
class HloTextReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "hlo-text"; }
  [[nodiscard]] std::string_view summary() const override {
    return "XLA's text dumps of buffers (*buffer-assignment.txt, *memory-usage-report.txt)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kProgram;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
