// Buckets: all bytes of the inputs split by the categories of a keyword dictionary. On every axis
// the rows and Others sum to the total, unless Multi::kAll asks for bytes to be counted once per
// category that matches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/value_choice.h"

namespace memtool {

// What happens to a sample whose words belong to several categories of an axis.
enum class Multi : std::uint8_t {
  kFirst,  // the first category in file order gets it
  kAll,    // every one counts it, so that rows may sum to more than the total
  kError,
};

struct BucketSum {
  std::int64_t bytes = 0;    // in the choice's unit
  std::int64_t count = 0;    // allocations; 0 when the inputs do not count
  std::int64_t unknown = 0;  // allocations of unknown size
  void Add(const BucketSum& other);
};

// One row of `top` inside a bucket: a tag, or the innermost visible frame.
struct BucketEntry {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;  // of code in no function; else 0
  BucketSum sum;
};

struct Bucket {
  std::string name;
  bool others = false;
  BucketSum sum;
  std::vector<BucketEntry> entries;  // largest first
};

struct BucketAxis {
  std::string name;
  std::vector<Bucket> buckets;  // in file order, then Others, also when they are empty
  std::int64_t ambiguous = 0;   // bytes whose words belong to several categories
  std::int64_t repeated = 0;    // with kAll: how much more the rows sum to than the total
};

// Why a bucket has what it has: bytes per word and text.
struct Explanation {
  std::string axis;
  std::string bucket;
  std::string word;    // as written; empty in Others
  SharedText matched;  // the tag or function that has the word
  SharedText entry;
  std::string also;  // other categories that match too: "RNN, Output"
  BucketSum sum;
};

class BucketTable {
 public:
  // Both are kept by reference. The space may be shared with other tables.
  BucketTable(const Keywords& keywords, Multi multi, NodeSpace& space)
      : keywords_(keywords), multi_(multi), space_(space) {}

  // `explain`: also keep what Explain() needs.
  void set_explaining(bool explain) { explaining_ = explain; }

  // Errors: with kError, kUsage naming a row that matches several categories.
  Result<void> Add(const Input& input);

  [[nodiscard]] std::vector<BucketAxis> Axes() const;
  // One of them, by its place in the dictionary.
  [[nodiscard]] BucketAxis AxisAt(std::size_t index) const;
  [[nodiscard]] const Keywords& keywords() const { return keywords_; }
  [[nodiscard]] const BucketSum& total() const { return total_; }
  // Bytes per word number, whether or not the word won.
  [[nodiscard]] std::vector<std::int64_t> WordBytes() const;
  // Bytes of entries whose name shows that nobody named them ("<unk>:unknown", "untagged").
  [[nodiscard]] std::int64_t UnnamedBytes() const;
  // Rows whose bucket is `row`, or whose entry or matched text contains it; by axis, then size.
  [[nodiscard]] std::vector<Explanation> Explain(std::string_view row) const;

 private:
  // Words that matched, and the entry that they matched for.
  struct Key {
    std::uint32_t words = 0;  // row of word_sets_
    std::uint32_t entry = 0;  // row of entries_
    friend bool operator==(const Key&, const Key&) = default;
  };
  using Entry = std::tuple<StringId, StringId, std::int64_t>;  // name, file, line: of space_
  // What one axis makes of a set of words: categories, ascending, and the first word of each.
  struct Hit {
    std::uint32_t category = 0;
    std::uint32_t word = 0;
  };
  [[nodiscard]] std::vector<Hit> FindHits(const std::vector<std::uint32_t>& words,
                                          std::size_t axis) const;
  [[nodiscard]] std::vector<std::pair<Key, BucketSum>> Sorted() const;
  Result<void> RefuseAmbiguous(const std::vector<std::uint32_t>& words,
                               std::string_view entry) const;
  void Note(KeywordMatches& matches, const SampleValue& sample, Key key, const BucketSum& sum);
  BucketSum& GetSum(Key key);
  void AddSamples(const Input& input);
  class InputRows;
  [[nodiscard]] std::optional<Explanation> MakeExplanation(std::size_t axis, std::uint32_t words,
                                                           std::uint32_t word) const;
  std::uint32_t InternEntry(const Entry& entry);
  [[nodiscard]] StringId NameOf(std::uint32_t entry) const { return std::get<0>(entries_[entry]); }
  std::uint32_t InternWords(std::span<const std::uint32_t> words);

  const Keywords& keywords_;
  Multi multi_;
  NodeSpace& space_;
  bool explaining_ = false;
  std::vector<Entry> entries_;
  KeyMap<Entry, std::uint32_t> entry_index_;  // → row of entries_
  std::vector<std::vector<std::uint32_t>> word_sets_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> word_index_;
  std::vector<std::pair<Key, BucketSum>> sums_;
  RowMap row_of_key_;  // key → row of sums_
  // Per (key, word): the texts of space_ in which the word was found.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::map<StringId, BucketSum>>
      texts_;
  BucketSum total_;
};

}  // namespace memtool
