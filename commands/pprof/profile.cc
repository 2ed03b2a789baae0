#include "pprof/profile.h"

#include <algorithm>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::commands::pprof {

namespace {

template <class Labels>
auto FindKey(const Labels& labels, StringId key) {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [key](const auto& label) { return label.key == key; });
  return found == labels.end() ? nullptr : &*found;
}

// Rows with a key each, in the order in which the keys are first asked for. Most samples have few
// labels: an index is made where there are more.
template <class Row>
class RowsByKey {
 public:
  explicit RowsByKey(std::vector<Row>& rows) : rows_(rows) {}

  Row& operator[](StringId key) {
    constexpr std::size_t kFew = 16;
    if (rows_.size() < kFew) {
      const auto found = std::find_if(rows_.begin(), rows_.end(),
                                      [key](const Row& row) { return row.key == key; });
      return found != rows_.end() ? *found : Append(key);
    }
    for (std::size_t i = index_.size(); i < rows_.size(); ++i) {
      index_.emplace(rows_[i].key.value(), i);
    }
    const auto found = index_.find(key.value());
    return found != index_.end() ? rows_[found->second] : Append(key);
  }

 private:
  Row& Append(StringId key) {
    rows_.push_back({});
    rows_.back().key = key;
    return rows_.back();
  }

  std::vector<Row>& rows_;
  KeyMap<std::uint32_t, std::size_t> index_;
};

}  // namespace

std::span<const Line> Frames(const Recording& recording, const Location& location) {
  return recording.Unsymbolized(location) ? std::span<const Line>() : recording.Lines(location);
}

LabelSet GroupLabels(std::span<const Label> labels) {
  LabelSet set;
  RowsByKey<TextLabel> texts(set.texts);
  RowsByKey<NumberLabel> numbers(set.numbers);
  for (const Label& label : labels) {
    if (!label.numeric) {
      texts[label.key].values.push_back(label.text);
      continue;
    }
    NumberLabel& number = numbers[label.key];
    if (label.unit.value() != 0 && label.unit.valid()) {
      number.units.resize(number.values.size(), StringId(0U));
      number.units.push_back(label.unit);
    }
    number.values.push_back(label.number);
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
