// Edits that concern labels: units, label frames, tag filters.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "pprof/edits.h"
#include "pprof/flat_map.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

std::vector<std::string> SplitComma(std::string_view text, bool drop_empty) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    if (comma != 0 || !drop_empty) {
      parts.emplace_back(text.substr(0, comma));
    }
    if (comma == std::string_view::npos) {
      break;
    }
    text.remove_prefix(comma + 1);
  }
  if (drop_empty) {
    std::erase(parts, "");
  }
  return parts;
}

// The values of one key, numbers in `unit`.
std::vector<std::string> ValuesOf(const MutableProfile& profile, const LabelSet& set, StringId key,
                                  const std::string& unit) {
  std::vector<std::string> values;
  if (const TextLabel* text = set.Text(key)) {
    for (const StringId value : text->values) {
      values.emplace_back(profile.Text(value));
    }
  }
  if (const NumberLabel* number = set.Number(key)) {
    for (std::size_t i = 0; i < number->values.size(); ++i) {
      values.push_back(number->units.empty()
                           ? ScaledLabel(number->values[i], "", "")
                           : ScaledLabel(number->values[i], profile.Text(number->units[i]), unit));
    }
  }
  return values;
}

// Makes frames of label values, one location per (value, key).
class LabelFrames {
 public:
  LabelFrames(MutableProfile& profile, std::string unit)
      : profile_(profile), unit_(std::move(unit)) {}

  // Locations for `keys`, the last key's first: innermost first.
  std::vector<std::uint32_t> Make(const LabelSet& set, const std::vector<std::string>& keys,
                                  bool& any) {
    std::vector<std::uint32_t> places;
    for (const std::string& key : Backwards<std::string>(keys)) {
      const StringId key_id = profile_.strings.Intern(key);
      const auto values = ValuesOf(profile_, set, key_id, unit_);
      any = any || !values.empty();
      places.push_back(Intern(fmt::format("{}", fmt::join(values, ",")), key_id));
    }
    return places;
  }

 private:
  std::uint32_t Intern(const std::string& name, StringId key) {
    const auto row = static_cast<std::uint32_t>(profile_.places.size());
    const auto [found, added] = rows_.try_emplace({name, key}, row);
    if (added) {
      const auto function = static_cast<std::uint32_t>(profile_.functions.size());
      profile_.functions.push_back(
          {.name = profile_.strings.Intern(name), .system_name = StringId(0U), .filename = key});
      profile_.places.push_back({.frames = {{function, 0}}});
    }
    return found->second;
  }

  MutableProfile& profile_;
  std::string unit_;
  std::map<std::pair<std::string, StringId>, std::uint32_t> rows_;
};

// "32kb", "32kb:", ":32kb", "32kb:64mb", with one unit throughout.
struct Range {
  std::string unit;
  std::optional<double> low;
  std::optional<double> high;

  [[nodiscard]] bool Holds(std::int64_t value, std::string_view from) const {
    const Measured measured = Scale(value, from, unit);
    return measured.unit == unit && (!low || measured.value >= *low) &&
           (!high || measured.value <= *high);
  }
};

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
      return {};  // more than an int64: pprof crashes on it, here it is an expression
    }
    ends.push_back(std::move(end));
  }
  return ends;
}

std::optional<Range> ParseRange(std::string_view text) {
  const std::vector<RangeEnd> ends = FindRangeEnds(text);
  if (ends.empty()) {
    return std::nullopt;
  }
  const Measured first = Scale(ends[0].number, ends[0].unit, ends[0].unit);
  if (ends.size() == 1) {
    if (text == ends[0].text) {
      return Range{first.unit, first.value, first.value};
    }
    if (text == ends[0].text + ":") {
      return Range{first.unit, first.value, std::nullopt};
    }
    if (text == ":" + ends[0].text) {
      return Range{first.unit, std::nullopt, first.value};
    }
    return std::nullopt;
  }
  const Measured second = Scale(ends[1].number, ends[1].unit, first.unit);
  if (text != ends[0].text + ":" + ends[1].text || first.unit != second.unit) {
    return std::nullopt;
  }
  return Range{first.unit, first.value, second.value};
}

LabelMatch RangeMatch(const MutableProfile& profile, std::optional<std::string> key, Range range,
                      const LabelUnits& units) {
  return [&profile, &units, key = std::move(key), range = std::move(range)](const LabelSet& set) {
    return std::any_of(set.numbers.begin(), set.numbers.end(), [&](const NumberLabel& number) {
      const std::string_view name = profile.Text(number.key);
      if (key && name != *key) {
        return false;
      }
      const auto unit = units.find(name);
      const std::string_view from = unit == units.end() ? std::string_view{} : unit->second;
      return std::any_of(number.values.begin(), number.values.end(),
                         [&](std::int64_t value) { return range.Holds(value, from); });
    });
  };
}

using Expressions = std::vector<std::shared_ptr<RE2>>;

bool AnyText(const MutableProfile& profile, const TextLabel& label, const RE2& expression,
             bool with_key) {
  return std::any_of(label.values.begin(), label.values.end(), [&](StringId value) {
    const std::string text =
        with_key ? fmt::format("{}:{}", profile.Text(label.key), profile.Text(value))
                 : std::string(profile.Text(value));
    return RE2::PartialMatch(text, expression);
  });
}

// Without a key every expression must match some "key:value".
LabelMatch AllMatch(const MutableProfile& profile, Expressions expressions) {
  return [&profile, expressions = std::move(expressions)](const LabelSet& set) {
    return std::all_of(expressions.begin(), expressions.end(), [&](const auto& expression) {
      return std::any_of(set.texts.begin(), set.texts.end(), [&](const TextLabel& label) {
        return AnyText(profile, label, *expression, true);
      });
    });
  };
}

// With a key one expression must match one value.
LabelMatch KeyMatch(const MutableProfile& profile, std::string key, Expressions expressions) {
  return
      [&profile, key = std::move(key), expressions = std::move(expressions)](const LabelSet& set) {
        return std::any_of(set.texts.begin(), set.texts.end(), [&](const TextLabel& label) {
          return profile.Text(label.key) == key &&
                 std::any_of(expressions.begin(), expressions.end(), [&](const auto& expression) {
                   return AnyText(profile, label, *expression, false);
                 });
        });
      };
}

// The first unit of each key counts; `others` are met later.
void NoteUnits(const MutableProfile& profile, const LabelSet& set, LabelUnits& units,
               std::map<std::string, std::set<std::string>>& others) {
  for (const NumberLabel& number : set.numbers) {
    const std::string key(profile.Text(number.key));
    std::string& unit = units[key];
    for (const StringId id : number.units) {
      const std::string text(profile.Text(id));
      unit = unit.empty() ? text : unit;
      if (!text.empty() && text != unit) {
        others[key].insert(text);
      }
    }
  }
}

}  // namespace

LabelUnits FindLabelUnits(const MutableProfile& profile, const WarnUser& warn) {
  LabelUnits units;
  std::map<std::string, std::set<std::string>> others;
  std::vector<char> seen(profile.label_sets.size(), 0);
  for (const std::uint32_t row : profile.sample_labels) {
    if (std::exchange(seen[row], 1) == 0) {
      NoteUnits(profile, profile.label_sets[row], units, others);
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

void DropEmptyLabels(MutableProfile& profile) {
  ChangeLabels(profile, [&](LabelSet& set) {
    for (TextLabel& label : set.texts) {
      std::erase(label.values, StringId(0U));
    }
    std::erase_if(set.texts, [](const TextLabel& label) { return label.values.empty(); });
    for (NumberLabel& label : set.numbers) {
      std::size_t kept = 0;
      const bool with_units = !label.units.empty();
      for (std::size_t i = 0; i < label.values.size(); ++i) {
        if (label.values[i] == 0 && (!with_units || label.units[i].value() == 0)) {
          continue;
        }
        label.values[kept] = label.values[i];
        if (with_units) {
          label.units[kept] = label.units[i];
        }
        ++kept;
      }
      label.values.resize(kept);
      label.units.resize(with_units ? kept : 0);
    }
    std::erase_if(set.numbers, [](const NumberLabel& label) { return label.values.empty(); });
  });
}

void AddLabelFrames(MutableProfile& profile, const Settings& settings, const WarnUser& warn) {
  const auto roots = SplitComma(settings.tagroot, true);
  const auto leaves = SplitComma(settings.tagleaf, true);
  bool root_found = false;
  bool leaf_found = false;
  if (!roots.empty() || !leaves.empty()) {
    LabelFrames frames(profile, settings.unit);
    // Rows are made in the order of samples: it is the order that -raw shows.
    std::vector<std::optional<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>>>
        added(profile.label_sets.size());
    Stacks stacks;
    FlatMap rows;
    for (std::size_t i = 0; i < profile.size(); ++i) {
      const std::uint32_t set = profile.sample_labels[i];
      if (!added[set]) {
        added[set].emplace();
        added[set]->first = frames.Make(profile.label_sets[set], roots, root_found);
        added[set]->second = frames.Make(profile.label_sets[set], leaves, leaf_found);
      }
      bool fresh = false;
      std::uint32_t& row = rows.At(std::uint64_t{profile.sample_stacks[i]} << 32U | set, 0, &fresh);
      if (fresh) {
        std::vector<std::uint32_t> places = added[set]->second;
        const auto old = profile.stacks[profile.sample_stacks[i]];
        places.insert(places.end(), old.begin(), old.end());
        places.insert(places.end(), added[set]->first.begin(), added[set]->first.end());
        row = stacks.Add(places);
      }
      profile.sample_stacks[i] = row;
    }
    profile.stacks = std::move(stacks);
  }
  if (!settings.tagroot.empty() && !root_found) {
    warn("TagRoot expression matched no samples");
  }
  if (!settings.tagleaf.empty() && !leaf_found) {
    warn("TagLeaf expression matched no samples");
  }
}

Result<LabelMatch> CompileTagFilter(const MutableProfile& profile, std::string_view option,
                                    const std::string& text, const LabelUnits& units,
                                    const WarnUser& warn) {
  if (text.empty()) {
    return LabelMatch();
  }
  std::optional<std::string> key;
  std::string value = text;
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    key = text.substr(0, equals);
    value = text.substr(equals + 1);
  }
  if (key && key->empty()) {
    key.reset();  // "=x" names no key
  }
  if (auto range = ParseRange(value)) {
    warn(fmt::format("{}:Interpreted '{}' as range, not regexp", option, value));
    return RangeMatch(profile, std::move(key), *std::move(range), units);
  }
  Expressions expressions;
  for (const std::string& part : SplitComma(value, false)) {
    expressions.push_back(std::make_shared<RE2>(part, RE2::Quiet));
    if (!expressions.back()->ok()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("parsing {} regexp: {}", option, expressions.back()->error()));
    }
  }
  return key ? KeyMatch(profile, *std::move(key), std::move(expressions))
             : AllMatch(profile, std::move(expressions));
}

}  // namespace memtool::commands::pprof
