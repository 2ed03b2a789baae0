// Traces of XLA's and TensorFlow's profiler (XSpace, "<host>.xplane.pb", as jax.profiler.trace and
// tf.profiler write them) → the history of the allocators' events in them. Who allocated is
// given by the spans around an event on its thread: Python functions, jitted functions, operations.
// Rules: memtool-formats(5).
#pragma once

#include "memtool/formats/reader.h"
#include "memtool/profile/model/recording_builder.h"
#include "xplane/plane.h"

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

namespace xplane {

// Adds what a trace's planes say, but not the name of its form. Errors: kMalformed where it has no
// memory events. Throws ReadError.
Result<void> AddSpace(Space space, const Limits& limits, RecordingBuilder& builder);

}  // namespace xplane

}  // namespace memtool::formats
