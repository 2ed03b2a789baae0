// pprof's profile.proto, as JAX, Go and others write it. Rules: the field table of pprof's
// profile.proto, and the checks of its parser; errors name the place.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

class PprofReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "pprof"; }
  [[nodiscard]] std::string_view summary() const override {
    return "pprof profiles (profile.proto): JAX device memory profiles, Go heap profiles, others";
  }
  [[nodiscard]] std::optional<RecordingKind> kind() const override {
    return RecordingKind::kProfile;
  }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
