// What a program says about its allocations: text, or since 2.14 a flat JSON object.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::torch_snapshot {

// "user_metadata": text becomes one label with that key, an object one label for each of its own
// keys, "user_metadata.KEY".
class MetadataLabels {
 public:
  // `text`: a string of the builder's.
  void AddTo(std::vector<Label>& set, std::uint32_t text, RecordingBuilder& builder);

 private:
  const std::vector<Label>& MakeLabels(std::uint32_t text, RecordingBuilder& builder);

  KeyMap<std::uint32_t, std::vector<Label>> known_;
};

// The text that those labels were made from; empty without any.
std::string MetadataText(const Recording& recording, std::span<const Label> labels);

}  // namespace memtool::formats::torch_snapshot
