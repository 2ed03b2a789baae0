// Traces of XLA's and TensorFlow's profiler (XSpace, "<host>.xplane.pb", as jax.profiler.trace and
// tf.profiler write them) → the history that the allocators' events in them tell. Who allocated is
// told by the spans around an event on its thread: Python functions, jitted functions, operations.
// Rules: memtool-formats(5).
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class XplaneReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "xplane"; }
  [[nodiscard]] std::string_view summary() const override {
    return "XLA and TensorFlow profiler traces (*.xplane.pb) with memory events";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override { return RecordingKind::kTrace; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
