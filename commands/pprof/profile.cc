#include "pprof/profile.h"

#include <algorithm>

#include "memtool/profile/model/recording_builder.h"

namespace memtool::commands::pprof {

namespace {

template <class Labels>
auto FindKey(const Labels& labels, StringId key) {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [key](const auto& label) { return label.key == key; });
  return found == labels.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Line> Frames(const Recording& recording, const Location& location) {
  return recording.Unsymbolized(location) ? std::span<const Line>() : recording.Lines(location);
}

LabelSet GroupLabels(std::span<const Label> labels) {
  LabelSet set;
  for (const Label& label : labels) {
    if (!label.numeric) {
      auto found = std::find_if(set.texts.begin(), set.texts.end(),
                                [&](const TextLabel& text) { return text.key == label.key; });
      if (found == set.texts.end()) {
        found = set.texts.insert(found, TextLabel{.key = label.key, .values = {}});
      }
      found->values.push_back(label.text);
      continue;
    }
    auto found = std::find_if(set.numbers.begin(), set.numbers.end(),
                              [&](const NumberLabel& number) { return number.key == label.key; });
    if (found == set.numbers.end()) {
      found = set.numbers.insert(found, NumberLabel{.key = label.key, .values = {}, .units = {}});
    }
    if (label.unit.value() != 0 && label.unit.valid()) {
      found->units.resize(found->values.size(), StringId(0U));
      found->units.push_back(label.unit);
    }
    found->values.push_back(label.number);
  }
  for (NumberLabel& number : set.numbers) {
    if (!number.units.empty()) {
      number.units.resize(number.values.size(), StringId(0U));
    }
  }
  return set;
}

const TextLabel* LabelSet::Text(StringId key) const {
  return FindKey(texts, key);
}
const NumberLabel* LabelSet::Number(StringId key) const {
  return FindKey(numbers, key);
}

Result<Recording> ChangeLabels(Recording recording,
                               const std::function<void(std::vector<Label>&)>& change) {
  RecordingBuilder builder(std::move(recording));
  std::vector<LabelSetId> rows;
  const std::size_t sets = builder.label_set_count();
  for (std::uint32_t i = 0; i < sets; ++i) {
    const auto old = builder.Labels(LabelSetId(i));
    std::vector<Label> labels(old.begin(), old.end());
    change(labels);
    rows.push_back(builder.InternLabels(labels));
  }
  for (LabelSetId& set : builder.samples().label_sets) {
    set = rows[set.value()];
  }
  return std::move(builder).Finish();
}

}  // namespace memtool::commands::pprof
