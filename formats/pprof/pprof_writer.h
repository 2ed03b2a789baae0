// Recording → profile.proto, gzipped, as every pprof reads it.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class PprofWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "pprof"; }
  [[nodiscard]] std::string_view summary() const override {
    return "pprof profiles (profile.proto), gzipped";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kSamples; }
  [[nodiscard]] bool binary() const override { return true; }
  // Errors: kUnsupported when there are no samples; kLimit when the message would pass 2 GiB, which
  // protobuf cannot write.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
