// Names as stacks of one frame, each once: what allocated, as far as Ascend's tables say.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_interner.h"

namespace memtool::formats::ascend {

inline constexpr std::size_t kMaxLedgers = 250;  // an event names its domain with one byte

class NameStacks {
 public:
  NameStacks(RecordingBuilder& builder, const Limits& limits)
      : builder_(builder), limits_(limits) {}

  // None for an empty name. Throws ReadError for one that is longer than the limit on strings.
  StackId Of(std::string_view name);

 private:
  RecordingBuilder& builder_;
  const Limits& limits_;
  ByteInterner names_;
  std::vector<StackId> stacks_;
};

}  // namespace memtool::formats::ascend
