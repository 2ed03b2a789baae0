#include "pprof/profile.h"

#include <algorithm>

#include "memtool/profile/recording_builder.h"

namespace memtool::commands::pprof {

namespace {

template <class Labels>
auto FindKey(const Labels& labels, StringId key) {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [key](const auto& label) { return label.key == key; });
  return found == labels.end() ? nullptr : &*found;
}

// Groups one label set by key, as pprof's maps do.
LabelSet GroupLabels(std::span<const Label> labels) {
  LabelSet set;
  for (const Label& label : labels) {
    if (!label.numeric) {
      auto found = std::find_if(set.texts.begin(), set.texts.end(),
                                [&](const TextLabel& text) { return text.key == label.key; });
      if (found == set.texts.end()) {
        found = set.texts.insert(found, TextLabel{.key = label.key, .values = {}});
      }
      found->values.push_back(label.text);
      continue;
    }
    auto found = std::find_if(set.numbers.begin(), set.numbers.end(),
                              [&](const NumberLabel& number) { return number.key == label.key; });
    if (found == set.numbers.end()) {
      found = set.numbers.insert(found, NumberLabel{.key = label.key, .values = {}, .units = {}});
    }
    if (label.unit.value() != 0 && label.unit.valid()) {
      found->units.resize(found->values.size(), StringId(0U));
      found->units.push_back(label.unit);
    }
    found->values.push_back(label.number);
  }
  for (NumberLabel& number : set.numbers) {
    if (!number.units.empty()) {
      number.units.resize(number.values.size(), StringId(0U));
    }
  }
  return set;
}

void ImportSymbols(const Recording& recording, MutableProfile& to) {
  to.mappings = recording.mappings;
  to.functions = recording.functions;
  // A profile without mappings gets one, which stands for the program.
  const bool fake = to.mappings.empty();
  if (fake) {
    to.mappings.push_back(Mapping{.filename = StringId(0U), .build_id = StringId(0U)});
  }
  to.places.reserve(recording.locations.size());
  for (const Location& from : recording.locations) {
    Place place{.mapping = fake ? 0 : from.mapping.value(),
                .address = from.address,
                .folded = from.folded,
                .frames = {}};
    for (const Line& line : recording.Lines(from)) {
      if (line.function.valid()) {
        place.frames.push_back({line.function.value(), line.line});
      }
    }
    to.places.push_back(std::move(place));
  }
}

void ImportSamples(Recording& recording, MutableProfile& to) {
  Profile& profile = *recording.profile;
  to.stacks.Reserve(recording.stacks.size(), recording.stacks.items().size());
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    places.clear();
    for (const LocationId location : recording.Stack(StackId(i))) {
      places.push_back(location.value());
    }
    to.stacks.Add(places);
  }
  LabelSets sets(to);
  std::vector<std::uint32_t> set_rows;
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    set_rows.push_back(sets.Intern(GroupLabels(recording.Labels(LabelSetId(i)))));
  }
  to.sample_stacks.reserve(profile.size());
  to.sample_labels.reserve(profile.size());
  for (std::size_t i = 0; i < profile.size(); ++i) {
    to.sample_stacks.push_back(profile.stacks[i].value());
    to.sample_labels.push_back(set_rows[profile.label_sets[i].value()]);
  }
  to.values = std::move(profile.values);
  to.values.resize(to.types.size());
}

template <class T>
void AppendBytes(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

const TextLabel* LabelSet::Text(StringId key) const {
  return FindKey(texts, key);
}
const NumberLabel* LabelSet::Number(StringId key) const {
  return FindKey(numbers, key);
}

void MutableProfile::Keep(const std::vector<char>& keep) {
  const auto filter = [&keep](auto& column) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (keep[i] != 0) {
        column[kept++] = column[i];
      }
    }
    column.resize(kept);
  };
  filter(sample_stacks);
  filter(sample_labels);
  std::for_each(values.begin(), values.end(), filter);
}

Result<MutableProfile> Import(Recording recording) {
  if (!recording.profile) {
    return Fail(ErrorCode::kUnsupported, "holds no samples");
  }
  MutableProfile to;
  to.strings = std::move(recording.strings);
  for (const SampleType& type : recording.profile->types) {
    to.types.push_back({std::string(to.Text(type.type)), std::string(to.Text(type.unit))});
  }
  to.default_type = to.Text(recording.profile->default_type);
  const Metadata& metadata = recording.metadata;
  for (const StringId comment : metadata.comments) {
    to.comments.emplace_back(to.Text(comment));
  }
  to.drop_frames = to.Text(metadata.drop_frames);
  to.keep_frames = to.Text(metadata.keep_frames);
  to.time_nanos = metadata.time_nanos;
  to.duration_nanos = metadata.duration_nanos;
  to.period_type = {std::string(to.Text(metadata.period_type.type)),
                    std::string(to.Text(metadata.period_type.unit))};
  to.period = metadata.period;
  ImportSymbols(recording, to);
  ImportSamples(recording, to);
  return to;
}

std::uint32_t LabelSets::Intern(LabelSet set) {
  const auto by_key = [this](const auto& a, const auto& b) {
    return profile_.Text(a.key) < profile_.Text(b.key);
  };
  std::sort(set.texts.begin(), set.texts.end(), by_key);
  std::sort(set.numbers.begin(), set.numbers.end(), by_key);
  std::string key;
  for (const TextLabel& text : set.texts) {
    AppendBytes(key, text.key.value());
    AppendBytes(key, text.values.size());
    for (const StringId value : text.values) {
      AppendBytes(key, value.value());
    }
  }
  key += '|';
  for (const NumberLabel& number : set.numbers) {
    AppendBytes(key, number.key.value());
    AppendBytes(key, number.values.size());
    AppendBytes(key, number.units.size());
    for (const std::int64_t value : number.values) {
      AppendBytes(key, value);
    }
    for (const StringId unit : number.units) {
      AppendBytes(key, unit.value());
    }
  }
  const auto [row, added] =
      rows_.try_emplace(std::move(key), static_cast<std::uint32_t>(profile_.label_sets.size()));
  if (added) {
    profile_.label_sets.push_back(std::move(set));
  }
  return row->second;
}

}  // namespace memtool::commands::pprof
