#include "memtool/profile/analysis/tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace memtool {

void TagTable::Add(const Input& input) {
  const View& view = *input.view;
  const Recording& recording = view.recording();
  const Profile& profile = *recording.profile;
  std::vector<char> dropped(recording.stack_count(), 1);
  VisibleStack visible;
  for (const StackSum& sum : input.sums->rows) {
    dropped[sum.stack.value()] = static_cast<char>(!view.Expand(sum.stack, visible));
  }
  std::vector<Sum> by_set(recording.label_set_count());
  auto next_unknown = profile.unknown_size.begin();
  for (std::uint32_t i = 0; i < profile.size(); ++i) {
    const bool unknown = next_unknown != profile.unknown_size.end() && *next_unknown == i;
    next_unknown += unknown ? 1 : 0;
    if (!view.Keeps(profile.label_sets[i]) || dropped[profile.stacks[i].value()] != 0) {
      continue;
    }
    Sum& sum = by_set[profile.label_sets[i].value()];
    const std::int64_t count =
        input.choice->count_type ? profile.values[*input.choice->count_type][i] : 0;
    sum.count = SaturatingAdd(sum.count, count);
    if (unknown && input.choice->role == Role::kBytes) {
      sum.unknown = SaturatingAdd(sum.unknown, count);
    } else {
      sum.bytes = SaturatingAdd(sum.bytes, profile.values[input.choice->type][i]);
    }
  }
  for (std::uint32_t set = 0; set < by_set.size(); ++set) {
    total_ = SaturatingAdd(total_, by_set[set].bytes);
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      if (!view.ShowsKey(label.key)) {
        continue;
      }
      const std::string_view unit = recording.Text(label.unit);
      std::string value = label.numeric
                              ? fmt::format("{}{}{}", label.number, unit.empty() ? "" : " ", unit)
                              : std::string(recording.Text(label.text));
      Sum& sum = sums_[{std::string(recording.Text(label.key)), std::move(value)}];
      sum.bytes = SaturatingAdd(sum.bytes, by_set[set].bytes);
      sum.count = SaturatingAdd(sum.count, by_set[set].count);
      sum.unknown = SaturatingAdd(sum.unknown, by_set[set].unknown);
    }
  }
}

std::vector<TagRow> TagTable::Rows() const {
  std::vector<TagRow> rows;
  for (const auto& [key, sum] : sums_) {
    rows.push_back({key.first, key.second, sum.bytes, sum.count, sum.unknown});
  }
  std::sort(rows.begin(), rows.end(), [](const TagRow& a, const TagRow& b) {
    return std::tuple(std::string_view(a.key), -Magnitude(a.bytes), std::string_view(a.value)) <
           std::tuple(std::string_view(b.key), -Magnitude(b.bytes), std::string_view(b.value));
  });
  return rows;
}

}  // namespace memtool
