#include "pprof/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "pprof/flat_map.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

bool Compatible(const ValueType& a, const ValueType& b) {
  const auto singular = [](std::string_view type) {
    return type.ends_with('s') ? type.substr(0, type.size() - 1) : type;
  };
  return singular(a.type) == singular(b.type) && (a.unit == b.unit || SameFamily(a.unit, b.unit));
}

// The type with the finest unit.
Result<ValueType> CommonType(std::span<const ValueType> types, std::string_view what) {
  ValueType finest = types[0];
  for (const ValueType& type : types.subspan(1)) {
    if (!Compatible(finest, type)) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}: incompatible types: {{{} {}}} {{{} {}}}", what, finest.type,
                              finest.unit, type.type, type.unit));
    }
    if (Scale(1, type.unit, finest.unit).value < 1) {
      finest = type;
    }
  }
  return finest;
}

template <class Pick>
std::vector<ValueType> Collect(const std::vector<MutableProfile>& profiles, Pick pick) {
  std::vector<ValueType> types;
  types.reserve(profiles.size());
  for (const MutableProfile& profile : profiles) {
    types.push_back(pick(profile));
  }
  return types;
}

Result<void> UnifyUnits(std::vector<MutableProfile>& profiles) {
  if (profiles.size() < 2) {
    return {};
  }
  for (const MutableProfile& profile : profiles) {
    if (profile.types.size() != profiles[0].types.size()) {
      return Fail(ErrorCode::kUsage, fmt::format("inconsistent samples type count: {} != {}",
                                                 profiles[0].types.size(), profile.types.size()));
    }
  }
  const auto period = CommonType(
      Collect(profiles, [](const MutableProfile& p) { return p.period_type; }), "period type");
  if (!period) {
    return Fail(period.error());
  }
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < profiles[0].types.size(); ++i) {
    auto type = CommonType(Collect(profiles, [i](const MutableProfile& p) { return p.types[i]; }),
                           "sample types");
    if (!type) {
      return Fail(std::move(type.error()));
    }
    types.push_back(*std::move(type));
  }
  for (MutableProfile& profile : profiles) {
    profile.period = ToInt(Scale(profile.period, profile.period_type.unit, period->unit).value);
    profile.period_type.unit = period->unit;
    std::vector<double> factors;
    for (std::size_t i = 0; i < types.size(); ++i) {
      factors.push_back(Scale(1, profile.types[i].unit, types[i].unit).value);
      profile.types[i].unit = types[i].unit;
    }
    ScaleValues(profile, factors);
  }
  return {};
}

Result<void> CheckSameTypes(const MutableProfile& a, const MutableProfile& b) {
  if (a.period_type == b.period_type && a.types == b.types) {
    return {};
  }
  const auto text = [](const MutableProfile& profile) {
    std::string out;
    for (const ValueType& type : profile.types) {
      out += fmt::format("{}{}/{}", out.empty() ? "" : " ", type.type, type.unit);
    }
    return out;
  };
  return Fail(ErrorCode::kUsage,
              fmt::format("incompatible sample types [{}] and [{}]", text(a), text(b)));
}

std::uint64_t HashPlaces(std::span<const std::uint32_t> places) {
  std::uint64_t hash = places.size();
  for (const std::uint32_t place : places) {
    hash = (hash ^ place) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

// Equal stacks get one row: a chain of rows per hash.
class StackRows {
 public:
  explicit StackRows(Stacks& stacks) : stacks_(stacks) {}
  std::uint32_t Intern(std::span<const std::uint32_t> places) {
    bool added = false;
    std::uint32_t& head = first_.At(HashPlaces(places), kNoRow, &added);
    for (std::uint32_t row = head; row != kNoRow; row = next_[row]) {
      const auto other = stacks_[row];
      if (std::equal(places.begin(), places.end(), other.begin(), other.end())) {
        return row;
      }
    }
    next_.push_back(head);
    head = stacks_.Add(places);
    return head;
  }

 private:
  Stacks& stacks_;
  FlatMap first_;
  std::vector<std::uint32_t> next_;
};

// Rows of tables are made when a sample first needs them: their order, which -raw shows, is the
// order of first use.
class Merger {
 public:
  Merger() : label_sets_(to_), stack_rows_(to_.stacks) {}

  void Add(const MutableProfile& from) {
    from_ = &from;
    to_.values.resize(from.types.size());
    strings_.assign(from.strings.size(), kNoRow);
    mapping_rows_.assign(from.mappings.size(), kNoRow);
    function_rows_.assign(from.functions.size(), kNoRow);
    place_rows_.assign(from.places.size(), kNoRow);
    std::vector<std::uint32_t> stack_rows(from.stacks.size(), kNoRow);
    std::vector<std::uint32_t> set_rows(from.label_sets.size(), kNoRow);
    if (to_.mappings.empty() && !from.mappings.empty()) {
      OfMapping(0);  // the first mapping is the program, used or not
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (IsZero(from, i)) {
        continue;
      }
      std::uint32_t& stack = stack_rows[from.sample_stacks[i]];
      stack = stack == kNoRow ? OfStack(from.stacks[from.sample_stacks[i]]) : stack;
      std::uint32_t& set = set_rows[from.sample_labels[i]];
      set = set == kNoRow ? OfLabels(from.label_sets[from.sample_labels[i]]) : set;
      AddSample(stack, set, i);
    }
  }

  [[nodiscard]] bool has_zero() const {
    for (std::size_t i = 0; i < to_.size(); ++i) {
      if (IsZero(to_, i)) {
        return true;
      }
    }
    return false;
  }
  MutableProfile Take() { return std::move(to_); }
  MutableProfile& header() { return to_; }

 private:
  static bool IsZero(const MutableProfile& profile, std::size_t sample) {
    return std::all_of(profile.values.begin(), profile.values.end(),
                       [sample](const auto& column) { return column[sample] == 0; });
  }

  void AddSample(std::uint32_t stack, std::uint32_t set, std::size_t sample) {
    bool added = false;
    const auto row = samples_.At(std::uint64_t{stack} << 32U | set,
                                 static_cast<std::uint32_t>(to_.size()), &added);
    for (std::size_t t = 0; t < to_.values.size(); ++t) {
      const std::int64_t value = from_->values[t][sample];
      if (added) {
        to_.values[t].push_back(value);
      } else {
        to_.values[t][row] = WrapAdd(to_.values[t][row], value);
      }
    }
    if (added) {
      to_.sample_stacks.push_back(stack);
      to_.sample_labels.push_back(set);
    }
  }

  StringId OfString(StringId id) {
    if (!id.valid()) {
      return StringId(0U);
    }
    std::uint32_t& row = strings_[id.value()];
    row = row == kNoRow ? to_.strings.Intern(from_->strings[id]).value() : row;
    return StringId(row);
  }

  std::uint32_t OfStack(std::span<const std::uint32_t> stack) {
    places_.clear();
    for (const std::uint32_t place : stack) {
      places_.push_back(OfPlace(place));
    }
    return stack_rows_.Intern(places_);
  }

  std::uint32_t OfLabels(const LabelSet& from) {
    LabelSet set = from;
    for (TextLabel& text : set.texts) {
      text.key = OfString(text.key);
      for (StringId& value : text.values) {
        value = OfString(value);
      }
    }
    for (NumberLabel& number : set.numbers) {
      number.key = OfString(number.key);
      for (StringId& unit : number.units) {
        unit = OfString(unit);
      }
    }
    return label_sets_.Intern(std::move(set));
  }

  // Addresses count from the start of the mapping, which may be loaded elsewhere in each process.
  std::uint32_t OfPlace(std::uint32_t row) {
    if (place_rows_[row] != kNoRow) {
      return place_rows_[row];
    }
    const Place& from = from_->places[row];
    Place place{.address = from.address, .folded = from.folded, .frames = {}};
    std::string key(1, from.folded ? 'F' : '-');
    const auto append = [&key](std::uint64_t number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof(number));
    };
    if (from.mapping != kNoRow) {
      place.mapping = OfMapping(from.mapping);
      const std::uint64_t start = to_.mappings[place.mapping].start;
      place.address = from.address + start - from_->mappings[from.mapping].start;
      append(place.address - start);
    } else {
      append(place.address);
    }
    append(place.mapping);
    for (const Frame& frame : from.frames) {
      place.frames.push_back({OfFunction(frame.function), frame.line});
      append(place.frames.back().function);
      append(static_cast<std::uint64_t>(frame.line));
    }
    const auto [found, added] =
        place_keys_.try_emplace(std::move(key), static_cast<std::uint32_t>(to_.places.size()));
    if (added) {
      to_.places.push_back(std::move(place));
    }
    place_rows_[row] = found->second;
    return found->second;
  }

  std::uint32_t OfMapping(std::uint32_t row) {
    if (mapping_rows_[row] != kNoRow) {
      return mapping_rows_[row];
    }
    Mapping mapping = from_->mappings[row];
    mapping.filename = OfString(mapping.filename);
    mapping.build_id = OfString(mapping.build_id);
    // Sizes are compared in pages; without a build id and a name every mapping is the same.
    constexpr std::uint64_t kPage = 0x1000;
    const std::uint64_t size = (mapping.limit - mapping.start + kPage - 1) / kPage;
    const StringId name = mapping.build_id.value() != 0 ? mapping.build_id : mapping.filename;
    const auto [found, added] =
        mapping_keys_.try_emplace(std::tuple(size, mapping.offset, name.value()),
                                  static_cast<std::uint32_t>(to_.mappings.size()));
    if (added) {
      to_.mappings.push_back(mapping);
    }
    mapping_rows_[row] = found->second;
    return found->second;
  }

  std::uint32_t OfFunction(std::uint32_t row) {
    if (function_rows_[row] != kNoRow) {
      return function_rows_[row];
    }
    Function function = from_->functions[row];
    function.name = OfString(function.name);
    function.system_name = OfString(function.system_name);
    function.filename = OfString(function.filename);
    const auto [found, added] = function_keys_.try_emplace(
        std::tuple(function.start_line, function.name.value(), function.system_name.value(),
                   function.filename.value()),
        static_cast<std::uint32_t>(to_.functions.size()));
    if (added) {
      to_.functions.push_back(function);
    }
    function_rows_[row] = found->second;
    return found->second;
  }

  MutableProfile to_;
  LabelSets label_sets_;
  StackRows stack_rows_;
  FlatMap samples_;
  std::unordered_map<std::string, std::uint32_t> place_keys_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, std::uint32_t> mapping_keys_;
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      function_keys_;

  // Of the source at hand: its rows to ours.
  const MutableProfile* from_ = nullptr;
  std::vector<std::uint32_t> strings_;
  std::vector<std::uint32_t> mapping_rows_;
  std::vector<std::uint32_t> function_rows_;
  std::vector<std::uint32_t> place_rows_;
  std::vector<std::uint32_t> places_;
};

void CombineHeaders(const std::vector<MutableProfile>& profiles, MutableProfile& to) {
  const MutableProfile& first = profiles[0];
  to.types = first.types;
  to.drop_frames = first.drop_frames;
  to.keep_frames = first.keep_frames;
  to.period_type = first.period_type;
  for (const MutableProfile& from : profiles) {
    if (to.time_nanos == 0 || from.time_nanos < to.time_nanos) {
      to.time_nanos = from.time_nanos;
    }
    to.duration_nanos = WrapAdd(to.duration_nanos, from.duration_nanos);
    to.period = to.period == 0 ? from.period : std::max(to.period, from.period);
    for (const std::string& comment : from.comments) {
      if (std::find(to.comments.begin(), to.comments.end(), comment) == to.comments.end()) {
        to.comments.push_back(comment);
      }
    }
    to.default_type = to.default_type.empty() ? from.default_type : to.default_type;
  }
}

MutableProfile MergeAll(std::vector<MutableProfile> profiles) {
  while (true) {
    Merger merger;
    CombineHeaders(profiles, merger.header());
    for (MutableProfile& profile : profiles) {
      merger.Add(profile);
      profile = {};  // frees it: profiles may be as large as memory allows
    }
    if (!merger.has_zero()) {
      return merger.Take();
    }
    // Samples cancelled out; what only they used goes too.
    profiles.clear();
    profiles.push_back(merger.Take());
  }
}

}  // namespace

Result<MutableProfile> Combine(std::vector<MutableProfile> profiles) {
  if (auto unified = UnifyUnits(profiles); !unified) {
    return Fail(std::move(unified.error()));
  }
  for (const MutableProfile& profile : profiles) {
    if (auto same = CheckSameTypes(profiles[0], profile); !same) {
      return Fail(std::move(same.error()));
    }
  }
  return MergeAll(std::move(profiles));
}

void ScaleValues(MutableProfile& profile, std::span<const double> factors) {
  if (std::all_of(factors.begin(), factors.end(), [](double factor) { return factor == 1; })) {
    return;
  }
  // A type with factor 1 does not count for whether the sample is zero: pprof's rule.
  std::vector<char> keep(profile.size(), 0);
  for (std::size_t t = 0; t < factors.size(); ++t) {
    if (factors[t] == 1) {
      continue;
    }
    for (std::size_t i = 0; i < keep.size(); ++i) {
      std::int64_t& value = profile.values[t][i];
      value = ToInt(std::round(static_cast<double>(value) * factors[t]));
      keep[i] = static_cast<char>(keep[i] != 0 || value != 0);
    }
  }
  profile.Keep(keep);
}

Result<void> Normalize(MutableProfile& profile, const MutableProfile& base) {
  if (auto same = CheckSameTypes(profile, base); !same) {
    return same;
  }
  const auto sum = [](const std::vector<std::int64_t>& column) {
    std::int64_t total = 0;
    for (const std::int64_t value : column) {
      total = WrapAdd(total, value);
    }
    return total;
  };
  std::vector<double> factors;
  for (std::size_t t = 0; t < profile.types.size(); ++t) {
    const std::int64_t own = sum(profile.values[t]);
    factors.push_back(
        own == 0 ? 0.0 : static_cast<double>(sum(base.values[t])) / static_cast<double>(own));
  }
  ScaleValues(profile, factors);
  return {};
}

void SetLabel(MutableProfile& profile, std::string_view key, std::string_view value) {
  const StringId key_id = profile.strings.Intern(key);
  const StringId value_id = profile.strings.Intern(value);
  ChangeLabels(profile, [&](LabelSet& set) {
    std::erase_if(set.texts, [&](const TextLabel& text) { return text.key == key_id; });
    set.texts.push_back({.key = key_id, .values = {value_id}});
  });
}

}  // namespace memtool::commands::pprof
