#include "answers/flame_buckets.h"

#include <algorithm>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/row_map.h"

namespace memtool {

namespace {

std::uint64_t KeyOf(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32U | low;
}

}  // namespace

std::uint32_t FlameBuckets::CategoryOf(std::span<const std::uint32_t> words) const {
  const auto word = DecidingWord(keywords_, words, 0);
  return word ? keywords_.places()[*word].category
              : static_cast<std::uint32_t>(keywords_.dictionary().axes[0].categories.size());
}

void FlameBuckets::Read(const Selection& selection) {
  const View& view = selection.view();
  const Recording& recording = selection.recording();
  const RowVector<StackSum>& sums = selection.sums().rows;
  rows_.assign(sums.size(), {});
  if (!recording.profile || keywords_.dictionary().axes.empty()) {
    return;
  }
  RowMap row_of;
  for (std::uint32_t i = 0; i < sums.size(); ++i) {
    row_of.GetOrPut(KeyOf(sums[i].stack.value(), sums[i].group), i);
  }
  KeywordMatches matches(keywords_, recording);
  std::vector<std::optional<std::uint32_t>> categories;  // per set of words
  RowMap part_of;                                        // row and category → its part
  ForEachSample(*recording.profile, selection.choice(), [&](const SampleValue& sample) {
    if (!view.Keeps(sample.labels)) {
      return;
    }
    const auto none = static_cast<std::uint32_t>(sums.size());
    const std::uint32_t row =
        row_of.GetOrPut(KeyOf(sample.stack.value(), view.GetGroup(sample.labels)), none);
    if (row == none) {
      return;
    }
    const WordSetId set = matches.Of(sample.stack, sample.labels);
    categories.resize(std::max<std::size_t>(categories.size(), matches.set_count()));
    std::optional<std::uint32_t>& category = categories[set.value()];
    category = category ? category : CategoryOf(matches.Words(set));
    std::vector<Part>& parts = rows_[row];
    const std::uint32_t part =
        part_of.GetOrPut(KeyOf(row, *category), static_cast<std::uint32_t>(parts.size()));
    if (part == parts.size()) {
      parts.push_back({.category = *category});
    }
    const double scale = selection.scale();
    parts[part].bytes =
        SaturatingAdd(parts[part].bytes, scale == 1.0 ? sample.value : Scaled(sample.value, scale));
  });
}

void FlameBuckets::Add(std::size_t row, std::uint32_t call) {
  held_.resize(std::max<std::size_t>(held_.size(), call + std::size_t{1}));
  for (const Part& part : rows_[row]) {
    std::int64_t& bytes = held_[call][part.category];
    bytes = SaturatingAdd(bytes, part.bytes);
  }
}

// The smaller of two lists is added to the larger: all of them together never grow.
void FlameBuckets::Finish(std::size_t calls,
                          const std::function<std::uint32_t(std::uint32_t)>& caller_of) {
  held_.resize(calls);
  most_.resize(calls);
  for (std::size_t i = calls; i-- > 0;) {
    const auto call = static_cast<std::uint32_t>(i);
    for (const auto& [category, bytes] : held_[i]) {
      if (Magnitude(bytes) > (most_[i] ? Magnitude(most_[i]->bytes) : 0)) {
        most_[i] = {.category = category, .bytes = bytes};
      }
    }
    if (i == 0) {
      break;
    }
    Sums& own = held_[i];
    Sums& all = held_[caller_of(call)];
    if (own.size() > all.size()) {
      std::swap(own, all);
    }
    for (const auto& [category, bytes] : own) {
      all[category] = SaturatingAdd(all[category], bytes);
    }
    own.clear();
  }
}

std::optional<FlameBuckets::Most> FlameBuckets::Of(std::uint32_t call) const {
  if (call >= most_.size() || !most_[call]) {
    return std::nullopt;
  }
  const auto& categories = keywords_.dictionary().axes[0].categories;
  const std::uint32_t category = most_[call]->category;
  return Most{category < categories.size() ? std::string_view(categories[category].name) : kOthers,
              most_[call]->bytes};
}

}  // namespace memtool
