// Recording → memtool's own container: everything that was read, in a few bytes per event.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class MemtoolWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "memtool"; }
  [[nodiscard]] std::string_view summary() const override {
    return "all that memtool read, compact, as an input for every command";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kRecording; }
  [[nodiscard]] bool binary() const override { return true; }
  // The same recording gives the same bytes, with one version of zstd. Errors: kLimit for more than
  // 4,294,967,294 events or a stack of more than 4,194,304 frames.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
