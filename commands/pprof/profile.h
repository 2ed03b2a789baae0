// A profile that can be changed step by step, as pprof changes its own: every option of pprof means
// "edit the profile, then report", and its output depends on the order of the edits. The analyses
// of libprofile never change a Recording, so this is the form that `memtool pprof` works on.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memtool/profile/recording.h"
#include "memtool/profile/result.h"

namespace memtool::commands::pprof {

inline constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

// Items from the last to the first.
template <class T>
class Backwards {
 public:
  explicit Backwards(std::span<const T> items) : items_(items) {}
  [[nodiscard]] auto begin() const { return items_.rbegin(); }
  [[nodiscard]] auto end() const { return items_.rend(); }

 private:
  std::span<const T> items_;
};

struct ValueType {
  std::string type;
  std::string unit;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

struct Frame {
  std::uint32_t function = 0;
  std::int64_t line = 0;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// Frames innermost first; none when unsymbolized or when all were hidden.
struct Place {
  std::uint32_t mapping = kNoRow;
  std::uint64_t address = 0;
  bool folded = false;
  std::vector<Frame> frames;
};

struct TextLabel {
  StringId key;
  std::vector<StringId> values;
};

struct NumberLabel {
  StringId key;
  std::vector<std::int64_t> values;
  std::vector<StringId> units;  // as many as values, or none
};

// Keys in byte order.
struct LabelSet {
  std::vector<TextLabel> texts;
  std::vector<NumberLabel> numbers;

  [[nodiscard]] const TextLabel* Text(StringId key) const;
  [[nodiscard]] const NumberLabel* Number(StringId key) const;
};

// Location rows of call stacks, innermost first, end to end.
class Stacks {
 public:
  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t row) const {
    return std::span(places_).subspan(begin_[row], begin_[row + 1] - begin_[row]);
  }
  std::uint32_t Add(std::span<const std::uint32_t> places) {
    places_.insert(places_.end(), places.begin(), places.end());
    begin_.push_back(places_.size());
    return static_cast<std::uint32_t>(begin_.size() - 2);
  }
  void Reserve(std::size_t stacks, std::size_t places) {
    begin_.reserve(stacks + 1);
    places_.reserve(places);
  }
  [[nodiscard]] std::size_t place_count() const { return places_.size(); }

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<std::uint32_t> places_;
};

struct MutableProfile {
  StringTable strings;
  std::vector<ValueType> types;
  std::string default_type;
  std::vector<Mapping> mappings;
  std::vector<Function> functions;
  std::vector<Place> places;
  Stacks stacks;
  std::vector<LabelSet> label_sets;
  // Samples, by columns.
  std::vector<std::uint32_t> sample_stacks;
  std::vector<std::uint32_t> sample_labels;
  std::vector<std::vector<std::int64_t>> values;  // [type][sample]

  std::vector<std::string> comments;
  std::string drop_frames;
  std::string keep_frames;
  std::int64_t time_nanos = 0;
  std::int64_t duration_nanos = 0;
  ValueType period_type;
  std::int64_t period = 0;

  [[nodiscard]] std::size_t size() const { return sample_stacks.size(); }
  [[nodiscard]] std::string_view Text(StringId id) const {
    return id.valid() ? strings[id] : std::string_view{};
  }
  // Drops the samples that `keep` (one per sample) says 0 for.
  void Keep(const std::vector<char>& keep);
};

// As read: nothing merged or dropped. Errors: kUnsupported when there are no samples to report on.
Result<MutableProfile> Import(Recording recording);
// For the writer of profile.proto. Errors: kMalformed never happens with a profile from Merge().
Result<Recording> Export(const MutableProfile& profile);

// Makes equal label sets one row.
class LabelSets {
 public:
  explicit LabelSets(MutableProfile& profile) : profile_(profile) {}
  // Sorts the keys; the same set always gets the same row.
  std::uint32_t Intern(LabelSet set);

 private:
  MutableProfile& profile_;
  std::unordered_map<std::string, std::uint32_t> rows_;
};

// Changes every label set that a sample has; sets that become equal stay rows of their own.
template <class Change>
void ChangeLabels(MutableProfile& profile, Change change) {
  for (LabelSet& set : profile.label_sets) {
    change(set);
  }
}

}  // namespace memtool::commands::pprof
