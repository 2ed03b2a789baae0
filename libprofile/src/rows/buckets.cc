#include "memtool/profile/rows/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

constexpr StringId kEmptyText(0U);

// How allocators and readers write "nobody gave this a name".
// "<unk>:" alone is the scope of what has none, and says nothing about the name after it.
bool IsUnnamed(std::string_view name) {
  constexpr std::array<std::string_view, 2> kWords{"unknown", "untagged"};
  return name.empty() || name.ends_with("<unk>") || name.ends_with("<unk>:") ||
         std::any_of(kWords.begin(), kWords.end(), [name](std::string_view word) {
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

std::uint32_t BucketTable::InternEntry(const Entry& entry) {
  const auto [at, added] =
      entry_index_.try_emplace(entry, static_cast<std::uint32_t>(entries_.size()));
  if (added) {
    entries_.push_back(entry);
  }
  return at->second;
}

std::uint32_t BucketTable::InternWords(std::span<const std::uint32_t> words) {
  const auto [it, added] = word_index_.try_emplace(
      std::vector<std::uint32_t>(words.begin(), words.end()), word_sets_.size());
  if (added) {
    word_sets_.push_back(it->first);
  }
  return it->second;
}

std::vector<BucketTable::Hit> BucketTable::FindHits(const std::vector<std::uint32_t>& words,
                                                    std::size_t axis) const {
  std::vector<Hit> hits;
  for (const std::uint32_t word : words) {  // ascending: by axis, category, word
    const WordPlace& place = keywords_.places()[word];
    if (place.axis != axis) {
      continue;
    }
    if (hits.empty() || hits.back().category != place.category) {
      hits.push_back({place.category, word});
    } else if (keywords_.word(hits.back().word).rest) {
      hits.back().word = word;
    }
  }
  const auto rest = [this](const Hit& hit) { return keywords_.word(hit.word).rest; };
  if (!std::all_of(hits.begin(), hits.end(), rest)) {
    std::erase_if(hits, rest);
  }
  return hits;
}

Result<void> BucketTable::RefuseAmbiguous(const std::vector<std::uint32_t>& words,
                                          std::string_view entry) const {
  const auto& axes = keywords_.dictionary().axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::vector<Hit> hits = FindHits(words, a);
    if (hits.size() > 1) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--multi error: '{}' belongs to '{}' (word '{}') and to '{}' (word "
                              "'{}')",
                              entry, axes[a].categories[hits[0].category].name,
                              keywords_.word(hits[0].word).written,
                              axes[a].categories[hits[1].category].name,
                              keywords_.word(hits[1].word).written),
                  "make the words more exact, or let the first category win with "
                  "--multi first");
    }
  }
  return {};
}

void BucketTable::Note(KeywordMatches& matches, const SampleValue& sample, Key key,
                       const BucketSum& sum) {
  const std::vector<std::uint32_t>& words = word_sets_[key.words];
  constexpr std::uint32_t kNoWord = UINT32_MAX;
  if (words.empty()) {
    texts_[{key.words, key.entry, kNoWord}][kEmptyText].Add(sum);
  }
  for (const std::uint32_t word : words) {
    const std::string_view text = matches.MatchedText(word, sample.stack, sample.labels);
    texts_[{key.words, key.entry, word}][space_.InternText(text)].Add(sum);
  }
}

// Rows of one input → rows of the table, found once each.
class BucketTable::InputRows {
 public:
  InputRows(BucketTable& table, const Input& input, KeywordMatches& matches)
      : table_(table),
        recording_(input.view->recording()),
        matches_(matches),
        nodes_(input, table.space_) {}

  Key Of(const SampleValue& sample) {
    const WordSetId set = matches_.Of(sample.stack, sample.labels);
    while (words_.size() <= set.value()) {
      const WordSetId next(words_.size());
      words_.push_back(table_.InternWords(matches_.Words(next)));
    }
    return {words_[set.value()], MakeEntry(sample)};
  }

 private:
  std::uint32_t MakeEntry(const SampleValue& sample) {
    if (const StringId tag = matches_.GetTag(sample.labels); tag.valid()) {
      std::uint32_t entry = of_tag_.Get(tag.value());
      if (entry == RowMap::kNone) {
        entry = table_.InternEntry({table_.space_.InternText(recording_.Text(tag)), kEmptyText, 0});
        of_tag_.Put(tag.value(), entry);
      }
      return entry;
    }
    const NodeId node = nodes_.Of(sample.stack);
    std::uint32_t entry = of_node_.Get(node.value());
    if (entry == RowMap::kNone) {
      NodeSpace& space = table_.space_;
      entry = table_.InternEntry(node.valid()
                                     ? Entry(space[node].name, space[node].file, space[node].line)
                                     : Entry(space.InternText(kNoStack), kEmptyText, 0));
      of_node_.Put(node.value(), entry);
    }
    return entry;
  }

  BucketTable& table_;
  const Recording& recording_;
  KeywordMatches& matches_;
  EntryNodes nodes_;
  RowMap of_tag_;                     // tag → entry
  RowMap of_node_;                    // node → entry
  std::vector<std::uint32_t> words_;  // set of words → row of the table
};

BucketSum& BucketTable::GetSum(Key key) {
  const std::uint64_t pair = std::uint64_t{key.words} << 32U | key.entry;
  const std::uint32_t row = row_of_key_.GetOrPut(pair, static_cast<std::uint32_t>(sums_.size()));
  if (row == sums_.size()) {
    sums_.emplace_back(key, BucketSum{});
  }
  return sums_[row].second;
}

void BucketTable::AddSamples(const Input& input) {
  const View& view = *input.view;
  KeywordMatches matches(keywords_, view.recording());
  InputRows rows(*this, input, matches);
  const std::vector<char> kept = SelectedStacks(view, *input.sums);
  ForEachSample(*view.recording().profile, *input.choice, [&](const SampleValue& sample) {
    if (!view.Keeps(sample.labels) || kept[sample.stack.value()] == 0) {
      return;
    }
    const Key key = rows.Of(sample);
    const BucketSum sum{
        .bytes = input.scale == 1.0 ? sample.value : Scaled(sample.value, input.scale),
        .count = sample.count,
        .unknown = sample.unknown};
    GetSum(key).Add(sum);
    total_.Add(sum);
    if (explaining_) {
      Note(matches, sample, key, sum);
    }
  });
}

Result<void> BucketTable::Add(const Input& input) {
  AddSamples(input);
  if (multi_ != Multi::kError) {
    return {};
  }
  for (const auto& [key, sum] : Sorted()) {
    if (auto fine = RefuseAmbiguous(word_sets_[key.words], space_.Text(NameOf(key.entry))); !fine) {
      return fine;
    }
  }
  return {};
}

std::vector<std::pair<BucketTable::Key, BucketSum>> BucketTable::Sorted() const {
  std::vector<std::pair<Key, BucketSum>> sorted = sums_;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.words, a.first.entry) < std::tuple(b.first.words, b.first.entry);
  });
  return sorted;
}

std::vector<BucketAxis> BucketTable::Axes() const {
  std::vector<BucketAxis> axes;
  for (std::size_t a = 0; a < keywords_.dictionary().axes.size(); ++a) {
    axes.push_back(AxisAt(a));
  }
  return axes;
}

BucketAxis BucketTable::AxisAt(std::size_t index) const {
  const Axis& source = keywords_.dictionary().axes[index];
  BucketAxis axis{.name = source.name};
  for (const Category& category : source.categories) {
    axis.buckets.push_back({.name = category.name});
  }
  axis.buckets.push_back({.name = std::string(kOthers), .others = true});
  std::vector<std::map<std::uint32_t, BucketSum>> entries(axis.buckets.size());
  for (const auto& [key, sum] : Sorted()) {
    std::vector<Hit> hits = FindHits(word_sets_[key.words], index);
    if (hits.size() > 1) {
      axis.ambiguous = SaturatingAdd(axis.ambiguous, sum.bytes);
    }
    if (hits.empty()) {
      hits.push_back({static_cast<std::uint32_t>(source.categories.size()), 0});
    }
    for (std::size_t h = 0; h < (multi_ == Multi::kAll ? hits.size() : 1); ++h) {
      axis.buckets[hits[h].category].sum.Add(sum);
      entries[hits[h].category][key.entry].Add(sum);
      axis.repeated = h > 0 ? SaturatingAdd(axis.repeated, sum.bytes) : axis.repeated;
    }
  }
  for (std::size_t b = 0; b < entries.size(); ++b) {
    auto& rows = axis.buckets[b].entries;
    for (const auto& [entry, sum] : entries[b]) {
      const auto& [name, file, line] = entries_[entry];
      rows.push_back({space_.Share(name), space_.Share(file), line, sum});
    }
    std::sort(rows.begin(), rows.end(), [](const BucketEntry& x, const BucketEntry& y) {
      return std::tuple(-Magnitude(x.sum.bytes), x.name, x.file) <
             std::tuple(-Magnitude(y.sum.bytes), y.name, y.file);
    });
  }
  return axis;
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
    if (IsUnnamed(space_.Text(NameOf(key.entry)))) {
      bytes = SaturatingAdd(bytes, sum.bytes);
    }
  }
  return bytes;
}

// What `word` of a set of words means on an axis: nothing when another word decided, or when the
// set belongs to Others and an earlier word already stands for it.
std::optional<Explanation> BucketTable::MakeExplanation(std::size_t axis, std::uint32_t words,
                                                        std::uint32_t word) const {
  const Axis& source = keywords_.dictionary().axes[axis];
  const std::vector<Hit> hits = FindHits(word_sets_[words], axis);
  Explanation result{.axis = source.name, .bucket = std::string(kOthers)};
  if (hits.empty()) {
    const bool first = word_sets_[words].empty() || word == word_sets_[words].front();
    return first ? std::optional(std::move(result)) : std::nullopt;
  }
  const auto hit =
      std::find_if(hits.begin(), hits.end(), [word](const Hit& each) { return each.word == word; });
  if (hit == hits.end() || (multi_ != Multi::kAll && hit != hits.begin())) {
    return std::nullopt;
  }
  result.bucket = source.categories[hit->category].name;
  result.word = keywords_.word(word).written;
  for (const Hit& other : hits) {
    if (other.word != word) {
      result.also += (result.also.empty() ? "" : ", ") + source.categories[other.category].name;
    }
  }
  return result;
}

std::vector<Explanation> BucketTable::Explain(std::string_view row) const {
  OncePerText has_row(
      [&](StringId text) { return space_.Text(text).find(row) != std::string_view::npos; });
  std::vector<Explanation> rows;
  for (std::size_t axis = 0; axis < keywords_.dictionary().axes.size(); ++axis) {
    const auto begin = static_cast<std::ptrdiff_t>(rows.size());
    for (const auto& [key, texts] : texts_) {
      const auto& [words, entry, word] = key;
      const auto explanation = MakeExplanation(axis, words, word);
      if (!explanation) {
        continue;
      }
      std::vector<std::pair<StringId, BucketSum>> by_text(texts.begin(), texts.end());
      std::sort(by_text.begin(), by_text.end(), [this](const auto& a, const auto& b) {
        return space_.Text(a.first) < space_.Text(b.first);
      });
      for (const auto& [text, sum] : by_text) {
        const StringId matched = explanation->word.empty() ? kEmptyText : text;
        if (explanation->bucket == row || has_row(NameOf(entry)) || has_row(matched)) {
          Explanation& added = rows.emplace_back(*explanation);
          added.entry = space_.Share(NameOf(entry));
          added.matched = space_.Share(matched);
          added.sum = sum;
        }
      }
    }
    std::stable_sort(rows.begin() + begin, rows.end(),
                     [](const Explanation& a, const Explanation& b) {
                       return Magnitude(a.sum.bytes) > Magnitude(b.sum.bytes);
                     });
  }
  return rows;
}

}  // namespace memtool
