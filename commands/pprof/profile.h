// How pprof sees a recording: labels as maps from keys to values, locations that may have no
// frames.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

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

// Innermost first; none without symbols.
std::span<const Line> Frames(const Recording& recording, const Location& location);

// The labels of one sample with one key.
struct TextLabel {
  StringId key;
  std::vector<StringId> values;
};
struct NumberLabel {
  StringId key;
  std::vector<std::int64_t> values;
  std::vector<StringId> units;  // as many as values, or none
};

// Keys in the order of a merged recording: by their bytes.
struct LabelSet {
  std::vector<TextLabel> texts;
  std::vector<NumberLabel> numbers;

  [[nodiscard]] const TextLabel* Text(StringId key) const;
  [[nodiscard]] const NumberLabel* Number(StringId key) const;
};
LabelSet GroupLabels(std::span<const Label> labels);

// Changes the label set of every sample.
Result<Recording> ChangeLabels(Recording recording,
                               const std::function<void(std::vector<Label>&)>& change);

}  // namespace memtool::commands::pprof
