#include "memtool/profile/analysis/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "memtool/profile/analysis/values.h"

namespace memtool {

namespace {

// How allocators and readers write "nobody gave this a name".
bool IsUnnamed(std::string_view name) {
  constexpr std::array<std::string_view, 3> kWords{"unknown", "<unk>", "untagged"};
  return name.empty() || std::any_of(kWords.begin(), kWords.end(), [name](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

// The entry of samples without a tag: their innermost visible frame.
class EntryNodes {
 public:
  EntryNodes(const Input& input, NodeSpace& space)
      : walker_(*input.view, Granularity::kFileFunction, space),
        nodes_(input.view->recording().stack_count()) {
    NodeStack stack;
    for (const StackSum& sum : input.sums->rows) {
      if (walker_.Expand(sum, stack) && !stack.nodes.empty()) {
        nodes_[sum.stack.value()] = stack.nodes.front();
      }
    }
  }
  // None: a stack without visible frames.
  [[nodiscard]] NodeId Of(StackId stack) const { return nodes_[stack.value()]; }

 private:
  NodeWalker walker_;
  std::vector<NodeId> nodes_;
};

}  // namespace

void BucketSum::Add(const BucketSum& other) {
  bytes = SaturatingAdd(bytes, other.bytes);
  count = SaturatingAdd(count, other.count);
  unknown = SaturatingAdd(unknown, other.unknown);
}

std::uint32_t BucketTable::InternEntry(std::string_view name, std::string_view file) {
  const auto [it, added] =
      entry_index_.try_emplace({std::string(name), std::string(file)}, entries_.size());
  if (added) {
    entries_.push_back({std::string(name), std::string(file)});
  }
  return it->second;
}

std::uint32_t BucketTable::InternWords(std::span<const std::uint32_t> words) {
  const auto [it, added] = word_index_.try_emplace(
      std::vector<std::uint32_t>(words.begin(), words.end()), word_sets_.size());
  if (added) {
    word_sets_.push_back(it->first);
  }
  return it->second;
}

std::vector<BucketTable::Hit> BucketTable::HitsOf(const std::vector<std::uint32_t>& words,
                                                  std::size_t axis) const {
  std::vector<Hit> hits;
  for (const std::uint32_t word : words) {  // ascending: by axis, category, word
    const WordPlace& place = keywords_.places()[word];
    if (place.axis == axis && (hits.empty() || hits.back().category != place.category)) {
      hits.push_back({place.category, word});
    }
  }
  return hits;
}

Result<void> BucketTable::RefuseAmbiguous(const std::vector<std::uint32_t>& words,
                                          std::string_view entry) const {
  const auto& axes = keywords_.dictionary().axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::vector<Hit> hits = HitsOf(words, a);
    if (hits.size() > 1) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--multi error: '{}' belongs to '{}' (word '{}') and to '{}' (word "
                              "'{}')",
                              entry, axes[a].categories[hits[0].category].name,
                              keywords_.word(hits[0].word).written,
                              axes[a].categories[hits[1].category].name,
                              keywords_.word(hits[1].word).written),
                  "make the words more exact, or let the first category win with --multi first");
    }
  }
  return {};
}

void BucketTable::Note(const KeywordMatches& matches, const SampleValue& sample, Key key,
                       BucketSum sum) {
  const std::vector<std::uint32_t>& words = word_sets_[key.words];
  constexpr std::uint32_t kNoWord = UINT32_MAX;
  if (words.empty()) {
    texts_[{key.words, key.entry, kNoWord}][""].Add(sum);
  }
  for (const std::uint32_t word : words) {
    const std::string_view text = matches.MatchedText(word, sample.stack, sample.labels);
    auto& texts = texts_[{key.words, key.entry, word}];
    auto it = texts.find(text);
    it = it == texts.end() ? texts.emplace(text, BucketSum{}).first : it;
    it->second.Add(sum);
  }
}

Result<void> BucketTable::Add(const Input& input) {
  const View& view = *input.view;
  const Recording& recording = view.recording();
  KeywordMatches matches(keywords_, recording);
  const EntryNodes nodes(input, space_);
  const std::vector<char> kept = KeptStacks(view, *input.sums);
  // Rows of this input → rows of the table.
  std::unordered_map<std::uint32_t, std::uint32_t> entry_of_tag;
  std::unordered_map<std::uint32_t, std::uint32_t> entry_of_node;
  std::unordered_map<std::uint32_t, std::uint32_t> words_of_set;
  const auto entry_of = [&](const SampleValue& sample) {
    if (const StringId tag = matches.TagOf(sample.labels); tag.valid()) {
      const auto [it, added] = entry_of_tag.try_emplace(tag.value());
      it->second = added ? InternEntry(recording.Text(tag), {}) : it->second;
      return it->second;
    }
    const NodeId node = nodes.Of(sample.stack);
    const auto [it, added] = entry_of_node.try_emplace(node.value());
    if (added) {
      it->second = node.valid() ? InternEntry(space_.Name(node), space_.File(node))
                                : InternEntry(kNoStack, {});
    }
    return it->second;
  };
  ForEachSample(*recording.profile, *input.choice, [&](const SampleValue& sample) {
    if (!view.Keeps(sample.labels) || kept[sample.stack.value()] == 0) {
      return;
    }
    const WordSetId set = matches.Of(sample.stack, sample.labels);
    const auto [it, added] = words_of_set.try_emplace(set.value());
    it->second = added ? InternWords(matches.Words(set)) : it->second;
    const Key key{it->second, entry_of(sample)};
    const BucketSum sum{
        .bytes = input.scale == 1.0 ? sample.value : Scaled(sample.value, input.scale),
        .count = sample.count,
        .unknown = sample.unknown};
    sums_[key].Add(sum);
    total_.Add(sum);
    if (explaining_) {
      Note(matches, sample, key, sum);
    }
  });
  if (multi_ == Multi::kError) {
    for (const auto& [key, sum] : Sorted()) {
      if (auto fine = RefuseAmbiguous(word_sets_[key.words], entries_[key.entry].name); !fine) {
        return fine;
      }
    }
  }
  return {};
}

std::vector<std::pair<BucketTable::Key, BucketSum>> BucketTable::Sorted() const {
  std::vector<std::pair<Key, BucketSum>> sorted(sums_.begin(), sums_.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.words, a.first.entry) < std::tuple(b.first.words, b.first.entry);
  });
  return sorted;
}

std::vector<BucketAxis> BucketTable::Axes() const {
  const auto& axes = keywords_.dictionary().axes;
  std::vector<BucketAxis> result;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    BucketAxis axis{.name = axes[a].name};
    for (const Category& category : axes[a].categories) {
      axis.buckets.push_back({.name = category.name});
    }
    axis.buckets.push_back({.name = std::string(kOthers), .others = true});
    std::vector<std::map<std::uint32_t, BucketSum>> entries(axis.buckets.size());
    for (const auto& [key, sum] : Sorted()) {
      std::vector<Hit> hits = HitsOf(word_sets_[key.words], a);
      if (hits.size() > 1) {
        axis.ambiguous = SaturatingAdd(axis.ambiguous, sum.bytes);
      }
      if (hits.empty()) {
        hits.push_back({static_cast<std::uint32_t>(axes[a].categories.size()), 0});
      }
      for (std::size_t h = 0; h < (multi_ == Multi::kAll ? hits.size() : 1); ++h) {
        axis.buckets[hits[h].category].sum.Add(sum);
        entries[hits[h].category][key.entry].Add(sum);
        axis.repeated = h > 0 ? SaturatingAdd(axis.repeated, sum.bytes) : axis.repeated;
      }
    }
    for (std::size_t b = 0; b < entries.size(); ++b) {
      for (const auto& [entry, sum] : entries[b]) {
        axis.buckets[b].entries.push_back({entries_[entry].name, entries_[entry].file, sum});
      }
      std::sort(axis.buckets[b].entries.begin(), axis.buckets[b].entries.end(),
                [](const BucketEntry& x, const BucketEntry& y) {
                  return std::tuple(-Magnitude(x.sum.bytes), std::string_view(x.name),
                                    std::string_view(x.file)) <
                         std::tuple(-Magnitude(y.sum.bytes), std::string_view(y.name),
                                    std::string_view(y.file));
                });
    }
    result.push_back(std::move(axis));
  }
  return result;
}

std::vector<std::int64_t> BucketTable::WordBytes() const {
  std::vector<std::int64_t> bytes(keywords_.places().size(), 0);
  for (const auto& [key, sum] : sums_) {
    for (const std::uint32_t word : word_sets_[key.words]) {
      bytes[word] = SaturatingAdd(bytes[word], sum.bytes);
    }
  }
  return bytes;
}

std::int64_t BucketTable::UnnamedBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [key, sum] : sums_) {
    if (IsUnnamed(entries_[key.entry].name)) {
      bytes = SaturatingAdd(bytes, sum.bytes);
    }
  }
  return bytes;
}

std::vector<Explanation> BucketTable::Explain(std::string_view row) const {
  const auto& axes = keywords_.dictionary().axes;
  std::vector<Explanation> rows;
  const auto wanted = [row](const Explanation& each) {
    return each.bucket == row || each.entry.find(row) != std::string::npos ||
           each.matched.find(row) != std::string::npos;
  };
  for (const auto& [key, texts] : texts_) {
    const auto& [words, entry, word] = key;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::vector<Hit> hits = HitsOf(word_sets_[words], a);
      const auto hit = std::find_if(hits.begin(), hits.end(),
                                    [w = word](const Hit& each) { return each.word == w; });
      const bool shown =
          multi_ == Multi::kAll ? hit != hits.end() : hit == hits.begin() && !hits.empty();
      // Others: shown once, at the first of the words that belong to other axes.
      const bool others =
          hits.empty() && (word_sets_[words].empty() || word == word_sets_[words].front());
      if (!shown && !others) {
        continue;
      }
      Explanation each{
          .axis = axes[a].name, .bucket = std::string(kOthers), .entry = entries_[entry].name};
      if (!others) {
        each.bucket = axes[a].categories[hit->category].name;
        each.word = keywords_.word(hit->word).written;
        for (const Hit& other : hits) {
          if (other.word != hit->word) {
            each.also += (each.also.empty() ? "" : ", ") + axes[a].categories[other.category].name;
          }
        }
      }
      for (const auto& [text, sum] : texts) {
        each.matched = others ? std::string() : text;
        each.sum = sum;
        if (wanted(each)) {
          rows.push_back(each);
        }
      }
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Explanation& a, const Explanation& b) {
    return std::tuple(std::string_view(a.axis), -Magnitude(a.sum.bytes)) <
           std::tuple(std::string_view(b.axis), -Magnitude(b.sum.bytes));
  });
  return rows;
}

}  // namespace memtool
