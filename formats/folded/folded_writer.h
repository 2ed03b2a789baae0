// Recording → "root;caller;leaf VALUE", which flame graph tools read.
#pragma once

#include <string>
#include <string_view>

#include "memtool/formats/writer.h"

namespace memtool::formats {

// One frame of a folded stack: text made visible, no ";" and no line break.
std::string EscapeFolded(std::string_view bytes);

class FoldedWriter final : public Writer {
 public:
  [[nodiscard]] std::string_view name() const override { return "folded"; }
  [[nodiscard]] std::string_view summary() const override {
    return "folded stacks, as flame graph tools read them: one type, filters apply";
  }
  [[nodiscard]] std::span<const std::string_view> endings() const override;
  [[nodiscard]] Written writes() const override { return Written::kSelection; }
  // Lines by name. Errors: those of Select().
  Result<void> Write(const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) const override;
};

}  // namespace memtool::formats
