// Memory logs of MXNet's profilers (forms.h) → profiles of tags.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class MxnetReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "mxnet"; }
  [[nodiscard]] std::string_view summary() const override {
    return "MXNet memory logs: the official CSV, its forerunners, TBD and Echo logs";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kTagLog;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

// The call stacks of allocations with unknown tags. A reader of its own, so that its rows can be
// told from those of the accompanying log, which holds the same allocations.
class MxnetStacksReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "mxnet-stacks"; }
  [[nodiscard]] std::string_view summary() const override {
    return "MXNet call stacks of unknown tags (the .log beside a memory log)";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kTagStacks;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
