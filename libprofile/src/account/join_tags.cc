#include "memtool/profile/account/join_tags.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/select/value_choice.h"

namespace memtool {

namespace {

std::string_view GetTag(const Recording& recording, LabelSetId labels) {
  for (const Label& label : recording.Labels(labels)) {
    if (!label.numeric && recording.Text(label.key) == kTagKey) {
      return recording.Text(label.text);
    }
  }
  return {};
}

}  // namespace

void TaggedStacks::Add(const Recording& stacks) {
  const auto choice = ChooseValue(stacks, "");
  if (!choice) {
    return;
  }
  ForEachSample(*stacks.profile, *choice, [&](const SampleValue& sample) {
    Sum& sum = tags_[std::string(GetTag(stacks, sample.labels))];
    sum.count = SaturatingAdd(sum.count, sample.count);
    sum.bytes = SaturatingAdd(sum.bytes, sample.value);
  });
}

Result<TaggedStacks::Rest> TaggedStacks::LeaveOut(Recording log) {
  const auto choice = ChooseValue(log, "");
  if (!choice || !choice->count_type) {
    return Rest{.recording = std::move(log)};
  }
  RecordingBuilder builder(std::move(log));
  Profile& profile = builder.samples();
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const auto it = tags_.find(GetTag(builder.recording(), profile.label_sets[i]));
    if (it == tags_.end()) {
      continue;
    }
    Sum& sum = it->second;
    std::int64_t& count = profile.values[*choice->count_type][i];
    std::int64_t& bytes = profile.values[choice->type][i];
    const std::int64_t rows = std::min(sum.count, count);
    const std::int64_t size = std::min(sum.bytes, bytes);
    sum.count = SaturatingSubtract(sum.count, rows);
    sum.bytes = SaturatingSubtract(sum.bytes, size);
    count = SaturatingSubtract(count, rows);
    bytes = SaturatingSubtract(bytes, size);
    left_out = SaturatingAdd(left_out, size);
  }
  auto rest = std::move(builder).Finish();
  return rest ? Result<Rest>(Rest{*std::move(rest), left_out}) : Fail(std::move(rest.error()));
}

}  // namespace memtool
