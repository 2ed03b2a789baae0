// What RAFT's memory_tracking_resources writes: how much each of its resources holds, sampled or
// after each allocation and deallocation (raft_events.h).
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class RaftReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "raft"; }
  [[nodiscard]] std::string_view summary() const override {
    return "RAFT's tracking CSV (memory_tracking_resources)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
