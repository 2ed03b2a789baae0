// Recording → a Perfetto trace (.pftrace): a process per allocator with counters, an instant with
// call stack and weight per allocation, the largest blocks as slices, and marks.
// Source: protos/perfetto/trace/ of google/perfetto.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class PerfettoWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "perfetto"; }
  [[nodiscard]] std::string_view summary() const override {
    return "counters, allocations with stacks and the largest blocks over time, for "
           "ui.perfetto.dev";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kTimeline; }
  [[nodiscard]] bool binary() const override { return true; }
  // Errors: kUnsupported when there are no events; kLimit when sums leave the 64-bit range; kUsage
  // for a device that there is not.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
