#include "memtool/profile/rows/tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

std::string ValueText(const Recording& recording, const Label& label) {
  const std::string_view unit = recording.Text(label.unit);
  return label.numeric ? fmt::format("{}{}{}", label.number, unit.empty() ? "" : " ", unit)
                       : std::string(recording.Text(label.text));
}

}  // namespace

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
  for (std::uint32_t set = 0; set < by_set.size(); ++set) {
    total_ = SaturatingAdd(total_, by_set[set].bytes);
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      if (view.ShowsKey(label.key)) {
        sums_[{std::string(recording.Text(label.key)), ValueText(recording, label)}].Add(
            by_set[set]);
      }
    }
  }
}

std::vector<TagRow> TagTable::Rows() const {
  std::vector<TagRow> rows;
  for (const auto& [key, sum] : sums_) {
    if (sum.bytes == 0 && sum.count == 0 && sum.unknown == 0) {
      continue;  // a label of samples that the filters or the moment leave out
    }
    rows.push_back({key.first, key.second, sum.bytes, sum.count, sum.unknown});
  }
  std::sort(rows.begin(), rows.end(), [](const TagRow& a, const TagRow& b) {
    return std::tuple(std::string_view(a.key), -Magnitude(a.bytes), std::string_view(a.value)) <
           std::tuple(std::string_view(b.key), -Magnitude(b.bytes), std::string_view(b.value));
  });
  return rows;
}

}  // namespace memtool
