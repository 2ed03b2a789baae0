// Recording → the JSON of chrome://tracing, which Perfetto opens too: a process per allocator with
// counters ("ph":"C"), the largest blocks and spans as async slices, marks as instants.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class ChromeWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "chrome"; }
  [[nodiscard]] std::string_view summary() const override {
    return "counters over time as JSON for chrome://tracing and Perfetto";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kTimeline; }
  // Errors: kUnsupported when there are no events; kLimit when sums leave the 64-bit range; kUsage
  // for a device that there is not.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
