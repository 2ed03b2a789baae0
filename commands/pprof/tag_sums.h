// The boxes that labels are in pprof's graphs, added up by number: a profile has millions of
// samples and few different labels. Texts are made once per label set, and only nodes that are
// shown get them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/rows/call_graph.h"
#include "pprof/measure.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

struct Tag {
  std::string name;
  std::string unit;         // of numeric tags
  std::int64_t number = 0;  // the first value that has this name
  Weight flat;
  Weight cum;
};

// Numeric tags hang on a text tag, or on none ("").
struct NodeTags {
  std::map<std::string, Tag> texts;
  std::map<std::string, std::map<std::string, Tag>> numbers;
};

// Which tags the samples of a label set have. Tags are numbers from 0.
class TagTable {
 public:
  struct Use {
    std::uint32_t tag;
    std::int64_t number;
  };

  // `joined`: the text tags of each label set as one text, "" = none.
  TagTable(const Recording& recording, const std::vector<std::string>& joined,
           const LabelUnits& units, const std::string& output_unit);

  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] std::span<const Use> Of(LabelSetId set) const {
    const std::size_t begin = begin_[set.value()];
    return std::span(uses_).subspan(begin, begin_[set.value() + 1] - begin);
  }
  // Puts a tag with these sums where it belongs.
  void AddTo(NodeTags& tags, std::uint32_t tag, std::int64_t number, const Weight& flat,
             const Weight& cum) const;

 private:
  struct Name {
    std::string joined;
    std::string number;  // "64kB"; empty: the text itself
  };
  std::uint32_t ToNumber(const std::string& joined, const std::string& number);

  std::string unit_;
  std::vector<Name> names_;
  KeyMap<std::string, KeyMap<std::string, std::uint32_t>> numbers_;
  std::vector<Use> uses_;
  std::vector<std::size_t> begin_{0};
};

// The tags of the samples of one stack; each tag once.
class StackTags {
 public:
  struct Sum {
    std::uint32_t tag = 0;
    std::size_t first = 0;  // the first of its samples
    std::int64_t number = 0;
    Weight weight;
  };

  explicit StackTags(std::size_t tags) : row_(tags, 0) {}

  void Clear();
  void Add(std::span<const TagTable::Use> uses, std::size_t sample, const Weight& weight);
  [[nodiscard]] std::span<const Sum> sums() const { return sums_; }

 private:
  std::vector<std::uint32_t> row_;  // per tag: row of sums_ + 1
  std::vector<Sum> sums_;
};

// The tags of all nodes of a graph.
class NodeTagSums {
 public:
  void Add(std::uint32_t node, const StackTags::Sum& sum, bool flat);
  // Of `count` nodes, those of the nodes in `shown`.
  [[nodiscard]] std::vector<NodeTags> Named(const TagTable& table, std::size_t count,
                                            const std::vector<std::uint32_t>& shown) const;

 private:
  struct Entry {
    std::uint32_t node = 0;
    std::uint32_t tag = 0;
    std::size_t first = 0;
    std::int64_t number = 0;
    Weight flat;
    Weight cum;
  };
  [[nodiscard]] std::size_t Find(std::uint32_t node, std::uint32_t tag) const;
  void Grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing: entry + 1, 0 = free; a power of two
};

}  // namespace memtool::commands::pprof
