// What a program says of its allocations: text, or since 2.14 a flat JSON object.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::torch_snapshot {

// "user_metadata": text becomes one label of that key, an object a label for each of its own,
// "user_metadata.KEY".
class MetadataLabels {
 public:
  // `text`: a string of the builder's.
  void AddTo(std::vector<Label>& set, std::uint32_t text, RecordingBuilder& builder);

 private:
  const std::vector<Label>& LabelsOf(std::uint32_t text, RecordingBuilder& builder);

  std::unordered_map<std::uint32_t, std::vector<Label>> known_;
};

// What those labels were made of; empty without any.
std::string MetadataText(const Recording& recording, std::span<const Label> labels);

}  // namespace memtool::formats::torch_snapshot
