#include "memtool/profile/rows/tags.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

void TagTable::Sum::Add(const Sum& other) {
  bytes = SaturatingAdd(bytes, other.bytes);
  count = SaturatingAdd(count, other.count);
  unknown = SaturatingAdd(unknown, other.unknown);
}

void TagTable::Add(const Input& input) {
  const View& view = *input.view;
  const Recording& recording = view.recording();
  const std::vector<char> kept = SelectedStacks(view, *input.sums);
  std::vector<Sum> by_set(recording.label_set_count());
  ForEachSample(*recording.profile, *input.choice, [&](const SampleValue& sample) {
    if (view.Keeps(sample.labels) && kept[sample.stack.value()] != 0) {
      by_set[sample.labels.value()].Add({sample.value, sample.count, sample.unknown});
    }
  });
  OncePerText known([&](StringId id) { return texts_.Intern(recording.Text(id)); });
  // The device of one process is not that of another, though it has its name.
  const auto value_of = [&](const Label& label) {
    if (label.numeric) {
      return texts_.Intern(NumberText(recording, label));
    }
    const bool device = !input.process.empty() && recording.Text(label.key) == "device";
    return device
               ? texts_.Intern(TextOfProcess("device", recording.Text(label.text), input.process))
               : known(label.text);
  };
  for (std::uint32_t set = 0; set < by_set.size(); ++set) {
    total_ = SaturatingAdd(total_, by_set[set].bytes);
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      if (view.ShowsKey(label.key)) {
        SumOf(known(label.key), value_of(label)).Add(by_set[set]);
      }
    }
  }
}

TagTable::Sum& TagTable::SumOf(StringId key, StringId value) {
  const std::uint32_t row = row_of_label_.GetOrPut(
      std::uint64_t{key.value()} << 32U | value.value(), static_cast<std::uint32_t>(sums_.size()));
  if (row == sums_.size()) {
    sums_.push_back({key, value, {}});
  }
  return sums_[row].sum;
}

std::vector<TagRow> TagTable::Rows() const {
  std::vector<TagRow> rows;
  OncePerText shared([this](StringId id) { return SharedText(texts_[id]); });
  for (const auto& [key, value, sum] : sums_) {
    if (sum.bytes == 0 && sum.count == 0 && sum.unknown == 0) {
      continue;  // a label of samples that the filters or the moment leave out
    }
    rows.push_back({shared(key), shared(value), sum.bytes, sum.count, sum.unknown});
  }
  std::sort(rows.begin(), rows.end(), [](const TagRow& a, const TagRow& b) {
    return std::tuple(a.key, -Magnitude(a.bytes), a.value) <
           std::tuple(b.key, -Magnitude(b.bytes), b.value);
  });
  return rows;
}

}  // namespace memtool
