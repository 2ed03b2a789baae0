// memtool's own container (.memtool), which `memtool convert --to memtool` writes.
#pragma once

#include "memtool/formats/reader.h"

namespace memtool::formats {

// The recording says of itself what it said when it was written: Metadata::format is the name of
// the reader that made it then.
class MemtoolReader final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "memtool"; }
  [[nodiscard]] std::string_view summary() const override {
    return "any other input, as convert --to memtool keeps it (.memtool)";
  }
  [[nodiscard]] bool container() const override { return true; }
  [[nodiscard]] Match Sniff(std::span<const std::byte> head) const override;
  Result<Recording> Read(ByteWindow& in, const Limits& limits) const override;
};

}  // namespace memtool::formats
