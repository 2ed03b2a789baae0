// Edits that concern labels: units, empty labels, label frames.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording_builder.h"
#include "pprof/edits.h"
#include "pprof/measure.h"
#include "pprof/profile.h"

namespace memtool::commands::pprof {

namespace {

std::vector<std::string> SplitComma(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) {
      parts.emplace_back(text.substr(0, comma));
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

// The values of one key, numbers in `unit`.
std::vector<std::string> GetValues(const Recording& recording, const LabelSet& set, StringId key,
                                   const std::string& unit) {
  std::vector<std::string> values;
  if (const TextLabel* text = set.Text(key)) {
    for (const StringId value : text->values) {
      values.emplace_back(recording.Text(value));
    }
  }
  if (const NumberLabel* number = set.Number(key)) {
    for (std::size_t i = 0; i < number->values.size(); ++i) {
      values.push_back(number->units.empty() ? ScaledLabel(number->values[i], "", "")
                                             : ScaledLabel(number->values[i],
                                                           recording.Text(number->units[i]), unit));
    }
  }
  return values;
}

// Makes frames of label values, one location per (value, key).
class LabelFrames {
 public:
  LabelFrames(Recording recording, const Settings& settings)
      : builder_(std::move(recording)),
        unit_(settings.unit),
        roots_(SplitComma(settings.tagroot)),
        leaves_(SplitComma(settings.tagleaf)) {}

  // Rows are made in the order of samples, because -raw shows that order.
  void Run() {
    std::vector<std::optional<Added>> added(builder_.label_set_count());
    RowMap rows;  // (stack, number of its frames) → stack with frames
    Runs<StackId, LocationId> stacks;
    Profile& profile = builder_.samples();
    for (std::size_t i = 0; i < profile.size(); ++i) {
      const LabelSetId set = profile.label_sets[i];
      std::optional<Added>& frames = added[set.value()];
      if (!frames) {
        const LabelSet labels = GroupLabels(builder_.Labels(set));
        frames.emplace();
        frames->roots = Make(labels, roots_, root_found_);
        frames->leaves = Make(labels, leaves_, leaf_found_);
        frames->number = ToNumber(*frames);
      }
      const auto next = static_cast<std::uint32_t>(stacks.size());
      const std::uint32_t row =
          rows.GetOrPut(std::uint64_t{profile.stacks[i].value()} << 32U | frames->number, next);
      if (row == next) {
        stacks.Append(frames->leaves);
        stacks.Append(builder_.recording().Stack(profile.stacks[i]));
        stacks.Append(frames->roots);
        stacks.EndRow();
      }
      profile.stacks[i] = StackId(row);
    }
    builder_.SetStacks(std::move(stacks));
  }
  [[nodiscard]] bool root_found() const { return root_found_; }
  [[nodiscard]] bool leaf_found() const { return leaf_found_; }
  Result<Recording> Finish() { return std::move(builder_).Finish(); }

 private:
  struct Added {
    std::vector<LocationId> roots;
    std::vector<LocationId> leaves;
    std::uint32_t number = 0;  // the same for the same frames
  };

  std::uint32_t ToNumber(const Added& frames) {
    return numbers_
        .try_emplace({frames.roots, frames.leaves}, static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }

  // Locations for `keys`, the last key's first: innermost first.
  std::vector<LocationId> Make(const LabelSet& set, const std::vector<std::string>& keys,
                               bool& any) {
    std::vector<LocationId> places;
    for (const std::string& key : Backwards<std::string>(keys)) {
      const StringId key_id = builder_.Intern(key);
      const auto values = GetValues(builder_.recording(), set, key_id, unit_);
      any = any || !values.empty();
      places.push_back(Intern(fmt::format("{}", fmt::join(values, ",")), key_id));
    }
    return places;
  }

  LocationId Intern(const std::string& name, StringId key) {
    const auto [found, added] = rows_.try_emplace({name, key});
    if (added) {
      const Line line{
          .function = builder_.AddFunction(
              {.name = builder_.Intern(name), .system_name = StringId(0U), .filename = key})};
      found->second = builder_.AddLocation({}, {&line, 1});
    }
    return found->second;
  }

  RecordingBuilder builder_;
  std::string unit_;
  std::vector<std::string> roots_;
  std::vector<std::string> leaves_;
  bool root_found_ = false;
  bool leaf_found_ = false;
  std::map<std::pair<std::string, StringId>, LocationId> rows_;
  std::map<std::pair<std::vector<LocationId>, std::vector<LocationId>>, std::uint32_t> numbers_;
};

// The first unit of each key counts; `others` are those found later.
void NoteUnits(const Recording& recording, const LabelSet& set, LabelUnits& units,
               std::map<std::string, std::set<std::string>>& others) {
  for (const NumberLabel& number : set.numbers) {
    const std::string key(recording.Text(number.key));
    std::string& unit = units[key];
    for (const StringId id : number.units) {
      const std::string text(recording.Text(id));
      unit = unit.empty() ? text : unit;
      if (!text.empty() && text != unit) {
        others[key].insert(text);
      }
    }
  }
}

bool IsEmpty(const Label& label) {
  const auto none = [](StringId id) { return !id.valid() || id.value() == 0; };
  return label.numeric ? label.number == 0 && none(label.unit) : none(label.text);
}

struct RangeEnd {
  std::string text;
  std::int64_t number = 0;
  std::string unit;
};

std::vector<RangeEnd> FindRangeEnds(std::string_view text) {
  static const RE2 range_end("([+-]?[[:digit:]]+)([[:alpha:]]+)?");
  re2::StringPiece rest(text.data(), text.size());
  std::vector<RangeEnd> ends;
  std::string digits;
  std::string unit;
  while (ends.size() < 2) {
    unit.clear();
    if (!RE2::FindAndConsume(&rest, range_end, &digits, &unit)) {
      break;
    }
    RangeEnd end{.text = digits + unit, .unit = unit};
    const std::size_t sign = digits[0] == '+' ? 1 : 0;
    const auto parsed =
        std::from_chars(digits.data() + sign, digits.data() + digits.size(), end.number);
    if (parsed.ec != std::errc()) {
      return {};  // more than an int64: pprof itself crashes on it; here it is a regular expression
    }
    ends.push_back(std::move(end));
  }
  return ends;
}

// "32kb", "32kb:", ":32kb", "32kb:64mb", with one unit throughout.
struct UnitRange {
  std::string unit;
  std::optional<double> low;
  std::optional<double> high;
  [[nodiscard]] bool Holds(std::int64_t value, std::string_view from) const;
};

bool UnitRange::Holds(std::int64_t value, std::string_view from) const {
  const Measured measured = ConvertUnit(value, from, unit);
  return measured.unit == unit && (!low || measured.value >= *low) &&
         (!high || measured.value <= *high);
}

std::optional<UnitRange> ParseUnitRange(std::string_view text) {
  const std::vector<RangeEnd> ends = FindRangeEnds(text);
  if (ends.empty()) {
    return std::nullopt;
  }
  const Measured first = ConvertUnit(ends[0].number, ends[0].unit, ends[0].unit);
  if (ends.size() == 1) {
    if (text == ends[0].text) {
      return UnitRange{first.unit, first.value, first.value};
    }
    if (text == ends[0].text + ":") {
      return UnitRange{first.unit, first.value, std::nullopt};
    }
    if (text == ":" + ends[0].text) {
      return UnitRange{first.unit, std::nullopt, first.value};
    }
    return std::nullopt;
  }
  const Measured second = ConvertUnit(ends[1].number, ends[1].unit, first.unit);
  if (text != ends[0].text + ":" + ends[1].text || first.unit != second.unit) {
    return std::nullopt;
  }
  return UnitRange{first.unit, first.value, second.value};
}

}  // namespace

LabelUnits FindLabelUnits(const Recording& recording, const WarnUser& warn) {
  LabelUnits units;
  std::map<std::string, std::set<std::string>> others;
  std::vector<char> seen(recording.label_set_count(), 0);
  for (const LabelSetId row : recording.profile->label_sets) {
    if (std::exchange(seen[row.value()], 1) == 0) {
      NoteUnits(recording, GroupLabels(recording.Labels(row)), units, others);
    }
  }
  for (auto& [key, unit] : units) {
    if (unit.empty()) {
      unit = key == "alignment" || key == "request" ? "bytes" : key;
    }
  }
  for (const auto& [key, ignored] : others) {
    warn(fmt::format("For tag {} used unit {}, also encountered unit(s) {}", key, units[key],
                     fmt::join(ignored, ", ")));
  }
  return units;
}

NumberTest ReadTagRange(std::string_view text, const LabelUnits& units) {
  auto range = ParseUnitRange(text);
  if (!range) {
    return {};
  }
  return [range = *std::move(range), &units](std::string_view key, std::int64_t number) {
    const auto of_key = units.find(key);
    return range.Holds(number, of_key == units.end() ? std::string_view{} : of_key->second);
  };
}

Result<Recording> DropEmptyLabels(Recording recording) {
  const auto labels = recording.label_sets.items();
  if (std::none_of(labels.begin(), labels.end(), IsEmpty)) {
    return recording;
  }
  return ChangeLabels(std::move(recording),
                      [](std::vector<Label>& set) { std::erase_if(set, IsEmpty); });
}

Result<Recording> AddLabelFrames(Recording recording, const Settings& settings,
                                 const WarnUser& warn) {
  if (settings.tagroot.empty() && settings.tagleaf.empty()) {
    return recording;
  }
  LabelFrames frames(std::move(recording), settings);
  frames.Run();
  if (!settings.tagroot.empty() && !frames.root_found()) {
    warn("TagRoot expression matched no samples");
  }
  if (!settings.tagleaf.empty() && !frames.leaf_found()) {
    warn("TagLeaf expression matched no samples");
  }
  return frames.Finish();
}

}  // namespace memtool::commands::pprof
