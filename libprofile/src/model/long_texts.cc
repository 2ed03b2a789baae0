#include "memtool/profile/model/long_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/base/string_table.h"

namespace memtool {

namespace {

constexpr std::size_t kLong = std::size_t{4} << 10U;
constexpr std::size_t kLeast = std::size_t{1} << 10U;
constexpr std::uint64_t kMaxRepeated = std::uint64_t{8} << 20U;
constexpr std::uint64_t kMaxTimes = 8;  // what all texts hold
constexpr std::uint64_t kCopies = 4;    // of each row, in an answer's largest form

struct Repeated {
  std::uint64_t texts = 0;
  std::uint64_t length = 0;

  Repeated& operator+=(const Repeated& more) {
    texts += more.texts;
    length += more.length;
    return *this;
  }
};

// How many long texts the rows of a recording have.
class LongTexts {
 public:
  explicit LongTexts(const Recording& recording)
      : recording_(recording), stacks_(recording.stack_count()) {
    std::vector<Repeated> locations(recording.locations.size());
    for (std::size_t i = 0; i < locations.size(); ++i) {
      locations[i] = OfLocation(recording.locations[i]);
    }
    for (std::uint32_t i = 0; i < stacks_.size(); ++i) {
      for (const LocationId location : recording.Stack(StackId(i))) {
        stacks_[i] += locations[location.value()];
      }
    }
  }

  [[nodiscard]] Repeated OfRows() const {
    Repeated sum;
    if (recording_.profile) {
      sum += OfSamples(*recording_.profile);
    }
    if (recording_.history) {
      for (const Event& event : recording_.history->events) {
        sum += OfStack(event.stack);
      }
    }
    if (recording_.state) {
      for (const Block& block : recording_.state->blocks) {
        sum += OfStack(block.stack);
      }
    }
    return sum;
  }

 private:
  [[nodiscard]] Repeated Of(StringId id) const {
    const std::size_t size = recording_.Text(id).size();
    return size > kLong ? Repeated{.texts = 1, .length = size} : Repeated{};
  }
  [[nodiscard]] Repeated OfLocation(const Location& location) const {
    Repeated sum;
    if (location.mapping.valid()) {
      sum += Of(recording_.mappings[location.mapping.value()].filename);
    }
    for (const Line& line : recording_.Lines(location)) {
      if (line.function.valid()) {
        const Function& function = recording_.functions[line.function.value()];
        sum += Of(function.name);
        sum += Of(function.filename);
      }
    }
    return sum;
  }
  [[nodiscard]] Repeated OfStack(StackId id) const {
    return id.valid() ? stacks_[id.value()] : Repeated{};
  }
  [[nodiscard]] Repeated OfSamples(const Profile& profile) const {
    std::vector<Repeated> sets(recording_.label_set_count());
    for (std::uint32_t i = 0; i < sets.size(); ++i) {
      for (const Label& label : recording_.Labels(LabelSetId(i))) {
        sets[i] += Of(label.key);
        sets[i] += Of(label.text);
        sets[i] += Of(label.unit);
      }
    }
    Repeated sum;
    for (std::size_t i = 0; i < profile.size(); ++i) {
      sum += OfStack(profile.stacks[i]);
      sum += sets[profile.label_sets[i].value()];
    }
    return sum;
  }

  const Recording& recording_;
  std::vector<Repeated> stacks_;
};

// Texts keep their ids.
StringTable WithAbridged(const StringTable& texts, std::size_t most) {
  StringTable abridged;
  for (std::uint32_t id = 0; id < texts.size(); ++id) {
    const std::string_view text = texts[StringId(id)];
    const std::string shown = text.size() > kLong ? Abridge(text, most) : std::string(text);
    abridged.Intern(shown);
    for (std::uint32_t i = id; abridged.size() == id; ++i) {  // another has the same ends
      abridged.Intern(fmt::format("{}…{}", shown, i));
    }
  }
  return abridged;
}

}  // namespace

void AbridgeLongTexts(Recording& recording) {
  const StringTable& texts = recording.strings;
  std::uint64_t all = 0;
  std::uint64_t count = 0;
  for (std::uint32_t id = 0; id < texts.size(); ++id) {
    const std::size_t size = texts[StringId(id)].size();
    all += size;
    count += size > kLong ? 1U : 0U;
  }
  const Repeated repeated = count == 0 ? Repeated{} : LongTexts(recording).OfRows();
  const std::uint64_t most = kMaxRepeated + kMaxTimes * all;
  if (repeated.length <= most) {
    return;
  }
  const std::size_t size = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(most / (kCopies * repeated.texts), kLeast, kLong));
  recording.strings = WithAbridged(texts, size);
  recording.diagnostics.push_back(
      {.severity = Severity::kNote,
       .code = "long_names",
       .message = fmt::format("names longer than {} are shown as their two ends, since so many "
                              "rows have them",
                              FormatSize(static_cast<std::int64_t>(kLong))),
       .count = count});
}

}  // namespace memtool
