// Recording → JSON with every sample and frame, schema memtool.profile/1.
#pragma once

#include "memtool/formats/writer.h"

namespace memtool::formats {

class JsonDumpWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "json"; }
  [[nodiscard]] std::string_view summary() const override {
    return "JSON of every sample and frame (memtool.profile/1)";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kSamples; }
  // Errors: kUnsupported when there are no samples.
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
